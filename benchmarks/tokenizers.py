"""The fast path of tokenizers: is it exact, and how much faster is it than the libraries alone?

    python -m benchmarks.tokenizers [exact] [code-points] [speed] [--only NAME ...]

- `exact`: 20,000 varied texts for each tokenizer, one by one and in batches; every id equal to the reference library's.
- `code-points`: every code point of the assigned planes in 17 neighbourhoods; the product must equal the reference,
  and those at which the bare fast engine differs must lie in the ranges of its guard.
- `speed`: encoding 12 bytes, 2 KB, 1 MB and a batch of 1,000 × 1 KB, and decoding 2 KB, side by side with the libraries
  in one process, taking turns; the best of several rounds, in processor time of one thread. Another fast library,
  gigatoken, is measured with them where it can be installed (into .cache/benchmarks).

Needs the tokenizers of `make tokenizers`; without them those of installed packages are used. What was measured goes to
benchmarks/results/tokenizers.json, beside what is there of other tokenizers. Exit status 1 when an id differs.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

from benchmarks.timing import RESULTS, environment, write_result
from sluicegate.tokenizers import Tokenizer, demo_tokenizers, load_tokenizer
from sluicegate.tokenizers.fast_path import LONG_S_CONTRACTION
from sluicegate.tokenizers.probes import SENTENCES, WHITE_SPACE

ROOT = pathlib.Path(__file__).parent.parent
CACHE = ROOT / ".cache" / "tokenizers"
NAMES = ("qwen3", "llama3_1", "deepseek_v4", "kimi_k3", "gptoss", "gemma3")
TEXTS = 20_000
ROUNDS = 5
GIGATOKEN = "gigatoken==0.10.0"

NEIGHBOURHOODS = (
    "{0}", " {0}", "a{0}", "{0}a", "A{0}b", "1{0}2", "{0}{0}", ".{0}", "{0}\n", "中{0}", "フ{0}", "っ{0}",
    "x{0}文 {0}B", " {0}<S{0}B", "'{0}s", "e{0}\u0301",
    "={0}\u0338",
)  # fmt: skip
SURROGATES = range(0xD800, 0xE000)
PLANES = (range(0x34000), range(0xE0000, 0xE0200), range(0xF0000, 0xF0010), range(0x10FFF0, 0x110000))


def load(name: str, *, use_fast_path: bool) -> Tokenizer:
    """Load a real tokenizer, from the cache or else from an installed package."""
    if (CACHE / name).is_dir():
        return load_tokenizer(CACHE / name, use_fast_path=use_fast_path)
    bundled = {"qwen3": "qwen3", "deepseek_v4": "deepseek-v4"}
    if name not in bundled:
        sys.exit(f"{name} is not in {CACHE}: run `make tokenizers` first")
    tokenizer: Any = demo_tokenizers()[bundled[name]]()
    if not use_fast_path:
        tokenizer._fast = None
    return tokenizer


USUAL_SENTENCES = [sentence for sentence in SENTENCES[:25] if LONG_S_CONTRACTION not in sentence]
"""Without what sends a whole text to the reference, and stands in no real one."""


def source_texts() -> list[str]:
    """Code and prose of this repository and of Python's library."""
    paths = [
        *ROOT.glob("src/**/*.py"),
        *ROOT.glob("docs/**/*.md"),
        *pathlib.Path(json.__file__).parent.parent.glob("*.py"),
    ]
    return [path.read_text("utf-8", "replace") for path in sorted(paths)]


def varied_texts(markers: list[str], count: int, seed: int = 1) -> Iterator[str]:
    """Yield texts of all kinds: random characters, markers whole and cut, code, blanks, numbers, runs, whole files."""
    pick = random.Random(seed)
    files = source_texts()
    for place in range(count):
        kind = place % 8
        if kind == 0:
            blocks = pick.choices(
                (0x20, 0x100, 0x400, 0x600, 0x900, 0xE00, 0x3040, 0x4E00, 0xAC00, 0x1F300, 0x10000), k=4
            )
            yield "".join(chr(pick.choice(blocks) + pick.randrange(256)) for _ in range(pick.randint(1, 80)))
        elif kind == 1:
            parts = pick.choices([*markers, *SENTENCES, *WHITE_SPACE], k=pick.randint(1, 8))
            yield "".join(part[: pick.randint(1, len(part))] if pick.random() < 0.3 else part for part in parts)
        elif kind in (2, 3):
            text = pick.choice(files)
            start = pick.randrange(max(1, len(text) - 200))
            yield text[start : start + pick.randint(1, 1_200)]
        elif kind == 4:
            yield "".join(pick.choices(" \n\t\r\u00a0\u3000ab.", k=pick.randint(1, 200)))
        elif kind == 5:
            yield "".join(pick.choices("0123456789,.-+/=ABCDEFabcdefxyz", k=pick.randint(1, 300)))
        elif kind == 6:
            yield " ".join(pick.choices(" ".join(SENTENCES).split(" "), k=pick.randint(1, 60)))
        elif place % 400 == 7:
            yield pick.choice("a \n1中") * 20_500 if pick.random() < 0.5 else pick.choice(files)[:150_000]
        else:
            yield "".join(pick.choices(pick.choice(SENTENCES), k=pick.randint(1, 100)))


def markers_of(tokenizer: Tokenizer) -> list[str]:
    return sorted(tokenizer.cut_marks)[:400] or ["<bos>", "<start_of_turn>", "\n\n"]


def in_batches(texts: Iterator[str], size: int = 500) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def check_exact(name: str) -> dict[str, Any]:
    product, reference = load(name, use_fast_path=True), load(name, use_fast_path=False)
    differing: list[str] = []
    count = 0
    for batch in in_batches(varied_texts(markers_of(product), TEXTS)):
        expected = reference.encode_batch(batch)
        together = product.encode_batch(batch)
        alone = [product.encode(text) for text in batch]
        flat = [product.encode_flat(text).tolist() for text in batch]
        for text, right, *found in zip(batch, expected, together, alone, flat, strict=True):
            count += 1
            if any(ids != right for ids in found):
                differing.append(text)
    return {"texts": count, "different": len(differing), "examples": differing[:3], "engine": product.engine.encode}


def check_code_points(name: str) -> dict[str, Any]:
    product, reference = load(name, use_fast_path=True), load(name, use_fast_path=False)
    fast_path = getattr(product, "_fast", None)
    bare: Callable[[list[str]], list[list[int]]] | None = getattr(fast_path, "_many", None)
    accepts: Callable[[str], bool] = getattr(fast_path, "accepts", lambda _: True)
    codes = [code for plane in PLANES for code in plane if code not in SURROGATES]
    different: list[int] = []
    unguarded: list[int] = []
    guarded_without_need = 0
    for start in range(0, len(codes), 2_000):
        part = codes[start : start + 2_000]
        texts = ["\n".join(NEIGHBOURHOODS).format(chr(code)) for code in part]
        expected = reference.encode_batch(texts)
        found = product.encode_batch(texts)
        raw = bare(texts) if bare is not None else expected
        for code, text, right, ours, fast in zip(part, texts, expected, found, raw, strict=True):
            if ours != right:
                different.append(code)
            if fast != right and accepts(text):
                unguarded.append(code)
            guarded_without_need += fast == right and not accepts(text)
    return {
        "code points": len(codes),
        "different": len(different),
        "fast engine differs outside its guard": [f"U+{code:04X}" for code in unguarded[:20]],
        "guarded without need": guarded_without_need,
    }


def mixed_text(size: int) -> str:
    """About `size` bytes of chat: prose in several languages, code and JSON."""
    pick = random.Random(7)
    files = source_texts()
    parts: list[str] = []
    total = 0
    while total < size:
        text = pick.choice(files)
        start = pick.randrange(max(1, len(text) - 300))
        parts.append(" ".join(pick.choices(USUAL_SENTENCES, k=2)) + "\n" + text[start : start + 300] + "\n")
        total += len(parts[-1].encode())
    return "".join(parts).encode()[:size].decode("utf-8", "ignore")


def best_of(calls: dict[str, Callable[[], object]], budget: float) -> dict[str, float]:
    """Microseconds of processor time of one call of each, the best of several rounds in which they take turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            started = time.process_time()
            call()
            once = time.process_time() - started
            times = max(1, min(5_000, int(budget / max(once, 1e-6))))
            started = time.process_time()
            for _ in range(times):
                call()
            best[name] = min(best[name], (time.process_time() - started) / times)
    return {name: seconds * 1e6 for name, seconds in best.items()}


def library_of(
    name: str,
) -> tuple[str, Callable[[str], list[int]], Callable[[list[str]], Any], Callable[[list[int]], str]]:
    """The library alone, called as its documentation says."""
    folder = CACHE / name
    if name.startswith("kimi"):
        encoding: Any = load(name, use_fast_path=False)._reference  # type: ignore[attr-defined]
        return (
            "tiktoken",
            lambda text: encoding.encode(text, allowed_special="all", disallowed_special=()),
            lambda texts: encoding.encode_batch(texts, allowed_special="all", disallowed_special=()),
            encoding.decode,
        )
    import tokenizers

    if (folder / "tokenizer.json").is_file():
        library = tokenizers.Tokenizer.from_file(f"{folder / 'tokenizer.json'}")
    else:
        library = load(name, use_fast_path=False)._reference  # type: ignore[attr-defined]
    return (
        "tokenizers",
        lambda text: library.encode(text, add_special_tokens=False).ids,
        lambda texts: [found.ids for found in library.encode_batch(texts, add_special_tokens=False)],
        lambda ids: library.decode(ids, skip_special_tokens=True),
    )


def gigatoken_of(name: str) -> Any:
    """The tokenizer of gigatoken, None where it cannot be installed or cannot read these files."""
    python = environment("gigatoken", [GIGATOKEN])
    if isinstance(python, str):
        print(f"  {python}")
        return None
    # Behind our own packages, which must stay those that are measured.
    sys.path += [
        f"{folder}" for folder in python.parent.parent.glob("lib/*/site-packages") if f"{folder}" not in sys.path
    ]
    import gigatoken

    try:
        return gigatoken.Tokenizer(CACHE / name)
    except Exception as error:
        print(f"  gigatoken does not load {name}: {error}")
        return None


def measure_speed(name: str) -> dict[str, Any]:
    product = load(name, use_fast_path=True)
    title, encode, encode_batch, decode = library_of(name)
    short, middle, long = "Hello world!", mixed_text(2_000), mixed_text(1_000_000)
    batch = [mixed_text(1_000 + place)[place:] for place in range(1_000)]
    ids = product.encode(middle)
    rows: dict[str, dict[str, Callable[[], object]]] = {
        "encode 12 B": {"ours": lambda: product.encode(short), title: lambda: encode(short)},
        "encode 2 KB": {"ours": lambda: product.encode(middle), title: lambda: encode(middle)},
        "encode 1 MB": {"ours": lambda: product.encode(long), title: lambda: encode(long)},
        "batch 1000 x 1 KB": {"ours": lambda: product.encode_batch(batch), title: lambda: encode_batch(batch)},
        f"decode {len(ids)} ids": {"ours": lambda: product.decode(ids), title: lambda: decode(ids)},
    }
    other = gigatoken_of(name)
    if other is not None:
        if other.encode(middle).tolist() != ids:
            print("  gigatoken finds other ids")
        calls_of_other: tuple[Callable[[], object], ...] = (
            lambda: other.encode(short).tolist(),
            lambda: other.encode(middle).tolist(),
            lambda: other.encode(long).tolist(),
            lambda: other.encode_batch_list(batch, parallel=False),
            lambda: other.decode(ids),
        )
        for calls, call in zip(rows.values(), calls_of_other, strict=True):
            calls["gigatoken"] = call
    result: dict[str, Any] = {}
    for row, calls in rows.items():
        times = best_of(calls, 0.15)
        result[row] = {f"{engine} us": round(taken, 2) for engine, taken in times.items()}
        result[row]["times faster"] = round(times[title] / times["ours"], 1)
        shown = "   ".join(f"{engine} {taken:>12,.1f} us" for engine, taken in times.items())
        print(f"  {row:<20} {shown}   {result[row]['times faster']:>6.1f} x", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["exact", "code-points", "speed", []], help="default: all")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=list(NAMES), help=f"default: {' '.join(NAMES)}")
    arguments = parser.parse_args()
    parts = arguments.parts or ["exact", "code-points", "speed"]
    # One thread for all: what is compared is the work, not how much of the machine it takes.
    os.environ |= {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    file = RESULTS / "tokenizers.json"
    measured: dict[str, Any] = json.loads(file.read_text("utf-8"))["tokenizers"] if file.exists() else {}
    wrong = 0
    for name in arguments.only:
        found: dict[str, Any] = measured.setdefault(name, {})
        print(name, flush=True)
        if "exact" in parts:
            found["exact"] = check_exact(name)
            wrong += found["exact"]["different"]
            print(f"  exact: {found['exact']}", flush=True)
        if "code-points" in parts:
            found["code points"] = check_code_points(name)
            wrong += found["code points"]["different"]
            print(f"  code points: {found['code points']}", flush=True)
        if "speed" in parts:
            found["speed"] = measure_speed(name)
        versions = {package: version(package) for package in ("tokenizers", "tiktoken", "splintr-rs")}
        write_result("tokenizers", {"versions": versions, "tokenizers": measured})
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
