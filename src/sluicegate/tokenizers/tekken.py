"""Mistral's tekken.json, read by `mistral-common`. Beyond the reference gateway.

The library reads and checks the file; the ranks it holds are then served like those of a rank file. Unlike the
library's own `encode`, control tokens written in a text are recognised, as everywhere here, unless `parse_special` is
false.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

from sluicegate.tokenizers.chat_template import ChatTemplate
from sluicegate.tokenizers.checkpoint import read_file
from sluicegate.tokenizers.errors import TokenizerFileInvalid
from sluicegate.tokenizers.failures import reason_of
from sluicegate.tokenizers.rank_file import RankTokenizer


class _Config(msgspec.Struct, frozen=True):
    pattern: str


class _File(msgspec.Struct, frozen=True):
    config: _Config


def load(
    file: Path, *, origin: str, chat_template: ChatTemplate | None = None, use_fast_path: bool = True
) -> RankTokenizer:
    """Load a tekken.json. Raises TokenizerFileInvalid."""
    try:
        pattern = msgspec.json.decode(read_file(file), type=_File).config.pattern
        tekken: Any = Tekkenizer.from_file(file)
        first, size = tekken.num_special_tokens, tekken.n_words
        ranks = {tekken.id_to_byte_piece(token_id): token_id for token_id in range(first, size)}
        special = {
            tekken.id_to_byte_piece(token_id, SpecialTokenPolicy.KEEP).decode(): token_id for token_id in range(first)
        }
        bos: int = tekken.bos_id
    except TokenizerFileInvalid:
        raise
    except Exception as error:
        # The library reports a broken file by KeyError, AssertionError, ValueError and whatever JSON and base64 raise.
        raise TokenizerFileInvalid(f"'{origin}' is not a valid tekken.json: {reason_of(error)}") from None
    return RankTokenizer(
        ranks,
        pattern=pattern,
        special_tokens=special,
        skipped=frozenset(special.values()),
        before=[bos],
        vocab_size=size,
        name=origin,
        chat_template=chat_template,
        use_fast_path=use_fast_path,
    )
