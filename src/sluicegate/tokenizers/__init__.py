"""Text to token ids and back: every kind of tokenizer file behind one interface.

Importing this package is cheap; the libraries that read tokenizers are imported when the first one is loaded.
"""

from sluicegate.tokenizers.cache import CachedTokenizer, CacheLimits, CacheObserver
from sluicegate.tokenizers.chat_template import ChatTemplate
from sluicegate.tokenizers.demo import demo_tokenizers
from sluicegate.tokenizers.detokenizer import StreamingDetokenizer
from sluicegate.tokenizers.errors import (
    ChatTemplateError,
    DetokenizationFailed,
    HubRefused,
    HubUnavailable,
    SourceForbidden,
    TokenizationFailed,
    TokenizerEngineMissing,
    TokenizerExists,
    TokenizerFileInvalid,
    TokenizerLoadCancelled,
    TokenizerLoadError,
    TokenizerNotFound,
    TokenizerNotLoaded,
    TokenizerUnsupported,
    UnknownTokenId,
)
from sluicegate.tokenizers.pieces import ends_inside_character, pieces_of_ids
from sluicegate.tokenizers.protocol import Engine, Piece, Tokenizer
from sluicegate.tokenizers.sources import is_hub_id, load_tokenizer, resolve_under_roots
from sluicegate.tokenizers.store import StoredTokenizer, TokenizerStore

__all__ = [
    "CacheLimits",
    "CacheObserver",
    "CachedTokenizer",
    "ChatTemplate",
    "ChatTemplateError",
    "DetokenizationFailed",
    "Engine",
    "HubRefused",
    "HubUnavailable",
    "Piece",
    "SourceForbidden",
    "StoredTokenizer",
    "StreamingDetokenizer",
    "TokenizationFailed",
    "Tokenizer",
    "TokenizerEngineMissing",
    "TokenizerExists",
    "TokenizerFileInvalid",
    "TokenizerLoadCancelled",
    "TokenizerLoadError",
    "TokenizerNotFound",
    "TokenizerNotLoaded",
    "TokenizerStore",
    "TokenizerUnsupported",
    "UnknownTokenId",
    "demo_tokenizers",
    "ends_inside_character",
    "is_hub_id",
    "load_tokenizer",
    "pieces_of_ids",
    "resolve_under_roots",
]
