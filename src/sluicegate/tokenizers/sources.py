"""From a source to a tokenizer: a local path, an OpenAI model name or a hub id, in this order.

What a directory holds decides as it does in SMG: tokenizer.json, then vocab.json with merges.txt of the Qwen2 class,
then tiktoken.model or *.tiktoken; beyond SMG tekken.json and SentencePiece's tokenizer.model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from sluicegate.tokenizers.chat_template import read_chat_template
from sluicegate.tokenizers.checkpoint import CheckpointConfig, read_config, read_file
from sluicegate.tokenizers.errors import (
    SourceForbidden,
    TokenizerEngineMissing,
    TokenizerFileInvalid,
    TokenizerNotFound,
    TokenizerUnsupported,
)
from sluicegate.tokenizers.openai_encodings import encoding_of_model

if TYPE_CHECKING:
    from sluicegate.tokenizers.hub import Hub
    from sluicegate.tokenizers.protocol import Tokenizer

TOKENIZER_FILES = "tokenizer.json, tiktoken.model, *.tiktoken, vocab.json with merges.txt, tekken.json, tokenizer.model"
QWEN2_CLASSES = frozenset({"Qwen2Tokenizer", "Qwen2TokenizerFast"})

_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)


def is_hub_id(source: str) -> bool:
    """Whether a source can name a hub repository: `name` or `owner/name`, not a path that exists or looks like one."""
    if source.startswith(("/", ".", "~")) or not _HUB_ID.fullmatch(source):
        return False
    return not _exists(Path(source))


def is_local(source: str) -> bool:
    """Whether a source is a path: it exists, is absolute, starts with "." or cannot be a hub id."""
    return not is_hub_id(source)


def resolve_under_roots(path: str | Path, roots: Iterable[str | Path]) -> Path:
    """Return the real path, links and `..` resolved, if it exists and lies under one of the roots.

    Raises SourceForbidden with one message for both, so that nobody learns which paths exist.
    """
    try:
        real = Path(path).resolve(strict=True)
        if any(real.is_relative_to(Path(root).resolve()) for root in roots):
            return real
    except (OSError, ValueError, RuntimeError):
        pass
    raise SourceForbidden(f"'{path}' does not exist or is not under one of the allowed roots (--tokenizer-roots)")


def load_tokenizer(
    source: str | Path, *, chat_template: str | Path | None = None, roots: Iterable[str | Path] | None = None,
    hub: Hub | None = None, cancelled: Callable[[], bool] = lambda: False, use_fast_path: bool = True,
) -> Tokenizer:  # fmt: skip
    """Load a tokenizer from a directory, a tokenizer file, an OpenAI model name or a hub id.

    `chat_template` is a file that replaces the checkpoint's own template. With `roots`, local paths must lie under one
    of them. `hub` says which hub to ask and how (by default the HF_* variables decide); `cancelled` is asked between
    downloads.

    Raises a TokenizerLoadError; its `retryable` says whether the same call may succeed later.
    """
    template = Path(chat_template) if chat_template is not None else None
    try:
        return _load(f"{source}", template, roots, hub=hub, cancelled=cancelled, use_fast_path=use_fast_path)
    except ModuleNotFoundError as error:
        raise TokenizerEngineMissing(
            f"Loading a tokenizer needs package {error.name}: pip install 'sluicegate[tokenizers]'"
        ) from None


def _load(
    source: str, template: Path | None, roots: Iterable[str | Path] | None, *, hub: Hub | None,
    cancelled: Callable[[], bool], use_fast_path: bool,
) -> Tokenizer:  # fmt: skip
    if not source:
        raise TokenizerNotFound("The tokenizer source is empty")
    roots = list(roots) if roots is not None else None
    if template is not None and roots is not None:
        resolve_under_roots(template, roots)  # messages go on naming it as the caller did
    path = Path(source)
    if is_local(source) and (_exists(path) or encoding_of_model(source) is None or source.startswith(("/", "."))):
        if roots is not None:
            path = resolve_under_roots(source, roots)
        elif not _exists(path):
            raise TokenizerNotFound(f"Tokenizer source '{source}' does not exist")
        return load_path(path, shown=source, chat_template=template, roots=roots, use_fast_path=use_fast_path)
    if (encoding := encoding_of_model(source)) is not None:
        from sluicegate.tokenizers.rank_file import openai_tokenizer  # noqa: PLC0415 - heavy

        given = read_chat_template(None, CheckpointConfig({}), template)
        return openai_tokenizer(encoding, chat_template=given, use_fast_path=use_fast_path)
    from sluicegate.tokenizers.hub import Hub, fetch  # noqa: PLC0415 - heavy

    folder = fetch(source, hub or Hub(), cancelled)
    return load_path(folder, shown=source, chat_template=template, use_fast_path=use_fast_path)


def load_path(
    path: Path, *, shown: str | None = None, chat_template: Path | None = None,
    roots: Iterable[str | Path] | None = None, use_fast_path: bool = True,
) -> Tokenizer:  # fmt: skip
    """Load a tokenizer from an existing directory or file; messages call it `shown`.

    With `roots` the tokenizer file must lie under one of them, also when it is a link. Raises a TokenizerLoadError.
    """
    shown = shown if shown is not None else f"{path}"
    try:
        file = _tokenizer_file_of(path, shown) if path.is_dir() else path
    except OSError as error:
        raise TokenizerFileInvalid(f"'{shown}' cannot be read: {error.strerror}") from None
    if roots is not None:
        resolve_under_roots(file, roots)
    config = read_config(file.parent)
    template = read_chat_template(file.parent, config, chat_template)
    kind = _kind_of(file, shown)
    origin = file.name if path is file else f"{shown}/{file.name}"
    if kind == "ranks":
        from sluicegate.tokenizers.rank_file import rank_tokenizer  # noqa: PLC0415 - heavy

        return rank_tokenizer(
            read_file(file), config, origin=origin, chat_template=template, use_fast_path=use_fast_path
        )
    if kind == "tekken":
        mistral = _optional("sluicegate.tokenizers.tekken", "tekken.json", "mistral-common")
        return cast("Tokenizer", mistral.load(file, origin=origin, chat_template=template, use_fast_path=use_fast_path))
    if kind == "sentencepiece":
        sentencepiece = _optional("sluicegate.tokenizers.sentencepiece_model", "SentencePiece models", "sentencepiece")
        return cast("Tokenizer", sentencepiece.load(read_file(file), config, origin=origin, chat_template=template))
    from sluicegate.tokenizers.huggingface import HuggingFaceTokenizer  # noqa: PLC0415 - heavy

    data = _join_vocabulary_and_merges(file.parent, config, shown) if kind == "vocabulary" else read_file(file)
    tokenizer = HuggingFaceTokenizer(data, config, origin=origin, chat_template=template, use_fast_path=use_fast_path)
    if kind == "vocabulary":
        for token_id, token in config.added_tokens().items():
            if (found := tokenizer.id_of(token.content)) != token_id:
                raise TokenizerFileInvalid(
                    f"Added token '{token.content}' expected ID {token_id}, got {found}; "
                    "non-contiguous explicit added-token IDs are unsupported"
                )
    return tokenizer


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _tokenizer_file_of(directory: Path, shown: str) -> Path:
    """Choose the file that a directory is loaded from; the first rule that fits wins."""

    def file(name: str) -> Path | None:
        return path if (path := directory / name).is_file() else None

    if (found := file("tokenizer.json")) is not None:
        return found
    has_vocabulary = file("vocab.json") is not None and file("merges.txt") is not None
    tokenizer_class = read_config(directory).tokenizer_class
    if has_vocabulary and tokenizer_class in QWEN2_CLASSES:
        return directory / "vocab.json"
    rank_files = [file("tiktoken.model"), *sorted(directory.glob("*.tiktoken"))]
    if (found := next((path for path in rank_files if path is not None), None)) is not None:
        return found
    if (found := file("tekken.json") or file("tokenizer.model")) is not None:
        return found
    if has_vocabulary:
        raise TokenizerUnsupported(_why_vocabulary_is_unsupported(directory, shown, tokenizer_class))
    raise TokenizerNotFound(f"Directory '{shown}' does not contain a valid tokenizer file ({TOKENIZER_FILES})")


def _why_vocabulary_is_unsupported(directory: Path, shown: str, tokenizer_class: str | None) -> str:
    config = f"{shown}/tokenizer_config.json"
    if tokenizer_class is not None:
        return f"Unsupported vocab.json + merges.txt tokenizer_class '{tokenizer_class}' in {config}"
    if not (directory / "tokenizer_config.json").is_file():
        return f"Failed to read {config}, which must name the tokenizer_class of vocab.json + merges.txt"
    return f"{config} is missing tokenizer_class; cannot infer what vocab.json + merges.txt are"


def _kind_of(file: Path, shown: str) -> str:
    """Tell what a tokenizer file is: by its name, else by its first bytes."""
    name = file.name
    if name == "vocab.json":
        return "vocabulary"
    if name == "tekken.json" or re.fullmatch(r"tekken_\w+\.json", name):
        return "tekken"
    if name.endswith(".json"):
        return "tokenizer.json"
    if name == "tiktoken.model" or name.endswith(".tiktoken"):
        return "ranks"
    with file.open("rb") as stream:
        start = stream.read(512)
    if start.startswith(b"GGUF") or name.endswith(".gguf"):
        raise TokenizerUnsupported(f"'{shown}': GGUF format not yet supported")
    if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        return "tokenizer.json"
    if re.match(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?\n", start):
        return "ranks"
    if ".model" in name or (start.startswith(b"\n") and b"<unk>" in start):
        return "sentencepiece"
    raise TokenizerUnsupported(f"Unable to determine tokenizer type for file: {shown}")


def _join_vocabulary_and_merges(directory: Path, config: CheckpointConfig, shown: str) -> bytes:
    """Make the tokenizer.json of a Qwen2 checkpoint that comes as vocab.json and merges.txt."""
    from sluicegate.tokenizers.qwen import qwen_tokenizer_json  # noqa: PLC0415 - heavy

    try:
        vocabulary = msgspec.json.decode(read_file(directory / "vocab.json"), type=dict[str, int])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise TokenizerFileInvalid(f"'{shown}/vocab.json' is not an object of token ids: {error}") from None
    try:
        lines = read_file(directory / "merges.txt").decode().splitlines()
    except UnicodeDecodeError:
        raise TokenizerFileInvalid(f"'{shown}/merges.txt' is not UTF-8 text") from None
    merges: list[tuple[str, str]] = []
    for number, line in enumerate(lines, start=1):
        if not line or line.startswith("#version"):
            continue
        left, blank, right = line.partition(" ")
        if not (blank and left and right):
            raise TokenizerFileInvalid(f"'{shown}/merges.txt' line {number} is not two tokens")
        merges.append((left, right))
    return qwen_tokenizer_json(
        vocabulary, merges, config.added_tokens(), add_prefix_space=config.flag("add_prefix_space")
    )


def _optional(module: str, what: str, package: str) -> Any:
    from importlib import import_module  # noqa: PLC0415 - only here

    try:
        return import_module(module)
    except ImportError as error:
        raise TokenizerEngineMissing(
            f"{what} need package {package} ({error.name} is not installed): pip install 'sluicegate[mistral]'"
        ) from None
