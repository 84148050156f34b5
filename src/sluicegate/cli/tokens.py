"""`sluicegate tokenize` and `sluicegate detokenize`."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.text import Text

from sluicegate.cli.display import console, print_json, quoted
from sluicegate.cli.failure import CommandFailed
from sluicegate.cli.inputs import read_text
from sluicegate.cli.parse import File, Json
from sluicegate.tokenizers import (
    Piece,
    Tokenizer,
    demo_tokenizers,
    ends_inside_character,
    load_tokenizer,
    pieces_of_ids,
)

Source = Annotated[
    str,
    Parameter(
        name=("--tokenizer", "-t"),
        help="A bundled tokenizer (qwen3, deepseek-v4), a directory, a file, an OpenAI model name or a hub id.",
    ),
]
Flag = Annotated[bool, Parameter(negative="")]


def find_tokenizer(source: str) -> Tokenizer:
    """The tokenizer of a bundled name or a source. Raises `TokenizerLoadError`."""
    bundled = demo_tokenizers().get(source)
    return bundled() if bundled is not None and not Path(source).exists() else load_tokenizer(source)


def tokenize(
    file: File = None,
    /,
    *,
    tokenizer: Source = "qwen3",
    pieces: Flag = False,
    add_special_tokens: Flag = False,
    plain: Flag = False,
    json: Json = False,
) -> int:
    """Turn text into token ids.

    Parameters
    ----------
    pieces: Show each token: id, text, bytes, and its place in the text in code points.
    add_special_tokens: Add what the checkpoint puts around a text.
    plain: Take the spelling of special tokens in the text as plain text.
    """
    text = read_text(file)
    engine = find_tokenizer(tokenizer)
    if not pieces:
        ids = engine.encode(text, add_special_tokens=add_special_tokens, parse_special=not plain)
        if json:
            print_json({"tokens": ids, "count": len(ids), "char_count": len(text)})
        else:
            print(" ".join(map(str, ids)))
        return 0
    show_pieces(engine.pieces(text, add_special_tokens=add_special_tokens, parse_special=not plain), as_json=json)
    return 0


def detokenize(
    file: File = None,
    /,
    *,
    tokenizer: Source = "qwen3",
    keep_special: Flag = False,
    pieces: Flag = False,
    json: Json = False,
) -> int:
    """Turn token ids into text. The ids are separated by white space or commas, or are a JSON array.

    Exit status 1 if the ids end inside a character, or one is not of the vocabulary.

    Parameters
    ----------
    keep_special: Keep special tokens.
    pieces: Show each token: id, text and bytes.
    """
    ids = read_ids(read_text(file))
    engine = find_tokenizer(tokenizer)
    parts = pieces_of_ids(engine, ids)
    incomplete = ends_inside_character(parts)
    if pieces:
        show_pieces(parts, as_json=json)
        return 1 if incomplete else 0
    text = engine.decode(ids, skip_special_tokens=not keep_special)
    if json:
        print_json({"text": text, "incomplete": incomplete})
    else:
        print(text)
    return 1 if incomplete else 0


def read_ids(text: str) -> list[int]:
    """Token ids from a JSON array, or separated by white space or commas. Raises `CommandFailed`."""
    if text.lstrip().startswith("["):
        try:
            return msgspec.json.decode(text, type=list[int])
        except msgspec.DecodeError as error:
            raise CommandFailed(f"token ids: {error}") from error
    ids: list[int] = []
    for position, word in enumerate(text.replace(",", " ").split()):
        if not word.isascii() or not word.isdigit():
            raise CommandFailed(f"token ids: {word!r} at position {position} is no token id")
        ids.append(int(word))
    return ids


def show_pieces(pieces: list[Piece], *, as_json: bool) -> None:
    """One line a token."""
    if as_json:
        for piece in pieces:
            print_json({**msgspec.structs.asdict(piece), "bytes": base64.b64encode(piece.bytes).decode()})
        return
    out = console()
    for piece in pieces:
        place = "" if piece.start is None else f"{piece.start}:{piece.end}"
        style = "bold yellow" if piece.special else "default"
        out.print(Text(f"{piece.id:8}  {place:>11}  {piece.bytes.hex(' '):24}  {quoted(piece.text)}", style))
