"""The tokenizers that are loaded when the service starts."""

from __future__ import annotations

from sluicegate.settings import Settings

from .state import ServiceState


def check_startup_tokenizer(settings: Settings) -> None:
    """Raise `InvalidSetting` where no attempt to load the start-up tokenizer could ever succeed."""


async def load_at_start(state: ServiceState) -> None:
    """Load what the settings name, and make the service ready."""
