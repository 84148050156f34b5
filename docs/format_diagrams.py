"""Writes the diagram of every tool format into its page, from the format's table.

What stands between the two comment lines of a page is replaced; a page without them gets them at its end.
"""

from __future__ import annotations

import html
import pathlib

from sluicegate.core.blocks import BlockFormat
from sluicegate.core.patterns import SPACE_CLASS, Either, Element, Pattern, Run, Unless
from sluicegate.dialects.tools import TOOL_FORMATS

BEGIN, END = "<!-- diagram: written by `make docs` from the table -->", "<!-- end of the diagram -->"
FORMATS = pathlib.Path(__file__).parent / "formats"


def quoted(text: str) -> str:
    """Text as a label of a diagram."""
    return '"' + html.escape(text.replace("\n", "⏎"), quote=True).replace("|", "&#124;") + '"'


def spelled(elements: tuple[Element, ...]) -> str:
    """A pattern in words: literals as they are, runs by name or as dots, white space as a blank."""
    parts: list[str] = []
    for element in elements:
        if isinstance(element, str):
            parts.append(element)
        elif isinstance(element, Run):
            parts.append(f"‹{element.name}›" if element.name else " " if element.characters == SPACE_CLASS else "…")
        elif isinstance(element, Either):
            ways = [spelled((way,) if isinstance(way, str) else way) for way in element.alternatives]
            parts.append(" or ".join(ways) if len(elements) == 1 else f"({' or '.join(ways)})")
        elif not isinstance(element, Unless):
            parts.append(" ")
    return "".join(parts).strip()


def condition(pattern: Pattern | None) -> str:
    """What must follow an opener."""
    return spelled(pattern.elements) if pattern is not None else ""


def diagram(form: BlockFormat) -> str:
    """A flow chart in Mermaid: from text over the openers to calls and back."""
    lines = ["flowchart LR", "  text([text])", "  call[[call]]", "  fault[[fault]]"]
    for number, opener in enumerate(form.openers):
        follows = " ".join(filter(None, (condition(opener.rest), condition(opener.condition))))
        if not follows:
            lines.append(f"  text -- {quoted(opener.literal)} --> call")
            continue
        lines.append(f"  text -- {quoted(opener.literal)} --> c{number}{{{quoted('then ' + follows)}}}")
        lines.append(f"  c{number} -- yes --> call")
        reach = f"no: text, up to {' or '.join(opener.reach)}" if opener.reach else "no: text"
        lines.append(f"  c{number} -- {quoted(reach)} --> text")
    lines.append("  call -- complete --> text")
    lines.append("  call -- broken --> fault")
    stops = [f"behind {stop}" for stop in form.closing_stops]
    stops += [f"before {stop}" for stop in form.opening_stops]
    lines.append(f"  fault -- {quoted(', '.join([*stops, 'before the next call']))} --> text")
    sections = [literal for pair in form.sections.items() for literal in pair]
    markers = dict.fromkeys((*sections, *form.closers, *(tag.literal for tag in form.tags)))
    for label, literals in (
        ("markup", markers),
        ("markup, always", form.wrappers),
        ("markup at the end of text", form.layout.end_tokens),
    ):
        if literals:
            lines.append(
                f"  text -. {quoted(' '.join(literals))} .-> {label.replace(' ', '_').replace(',', '')}({label})"
            )
    return "```mermaid\n" + "\n".join(lines) + "\n```"


def pages() -> dict[pathlib.Path, str]:
    """Each page with its diagram."""
    result: dict[pathlib.Path, str] = {}
    for form in TOOL_FORMATS:
        page = FORMATS / f"{form.names[0]}.md"
        if not isinstance(form, BlockFormat) or not page.exists():
            continue
        text = page.read_text("utf-8")
        if BEGIN not in text:
            text = f"{text.rstrip()}\n\n## Diagram\n\n{BEGIN}\n{END}\n"
        head, _, rest = text.partition(BEGIN)
        tail = rest.partition(END)[2]
        result[page] = f"{head}{BEGIN}\n\n{diagram(form)}\n\n{END}{tail}"
    return result


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, "utf-8")
