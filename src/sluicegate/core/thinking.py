"""Chain of thought that the tool parser of a family meets: a channel with an opening and a closing marker."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from sluicegate.core.events import Reasoning
from sluicegate.core.outline import Outline
from sluicegate.core.patterns import Markers
from sluicegate.core.tags import Form, Tag, recognise
from sluicegate.core.window import Window


@dataclass(kw_only=True, eq=False)
class Channel:
    """A channel counts from its opening marker to its first closing one, if none of the `breaks` comes before it.

    Without a closing marker the opening one is text; a closing one by itself is text, too.
    """

    opener: Tag
    closer: Tag
    breaks: tuple[Tag, ...] = ()

    def __post_init__(self) -> None:
        # The markers that decide, by their literals.
        self.ends: dict[str, list[Form]] = {}
        for tag in (self.closer, *self.breaks):
            self.ends.setdefault(tag.literal, []).append(tag)
        self.markers = Markers(self.ends)


class ChannelReader:
    """Reads the channels of one output. `_lone` is up to which raw offset an opening marker is known to be text."""

    __slots__ = ("_channel", "_lone")

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lone = -1

    def read(self, window: Window, outline: Outline, size: int) -> Generator[None, None, bool]:
        """Consume the channel whose opening marker, `size` code points long, is next; False if that is text."""
        start = window.offset
        if start < self._lone:
            return False
        window.keep(start)
        window.pos += size
        begin = window.offset
        while True:
            literal, at = self._channel.markers.find(window.text, window.pos, window.final)
            window.pos = at
            if literal is not None:
                found = recognise(window, literal, self._channel.ends[literal], None)
                if found is None:
                    yield
                    continue
                if found.form is self._channel.closer:
                    break
                if found.form is None:
                    window.pos += len(literal)
                    continue
            if literal is not None or window.final:
                self._lone = window.offset
                window.rewind(start)
                window.release()
                return False
            yield
        end = window.offset
        text = window.slice(begin, end)
        window.pos += found.size
        window.release()
        outline.wrapped(start, begin)
        if text:
            outline.thought(Reasoning(begin, end, text))
        outline.wrapped(end, window.offset)
        return True
