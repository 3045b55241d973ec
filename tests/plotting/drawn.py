"""What an SVG of a plot shows, and where: words with their boxes, axes, marks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree

from ttastats.output.plots import theme

_MOVED = re.compile(r"translate\(([-\d.e]+)[, ]([-\d.e]+)\)")
_TURNED = re.compile(r"rotate\((-?\d+)")
_NUMBER = re.compile(r"-?[\d.]+(?:e-?\d+)?")
#: How far a text goes above and below its line, as shares of its size; less than an accent needs.
_ABOVE, _BELOW = 0.66, 0.16
#: How much wider titles are than other words.
_SEMIBOLD = 1.06
#: Boxes that share less than this many pixels do not hinder a reader.
_TOUCHING = 0.6
_SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Word:
    """A line of text with its box."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    role: str

    def lies_on(self, other: Word) -> bool:
        across = min(self.right, other.right) - max(self.left, other.left)
        along = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across > _TOUCHING and along > _TOUCHING


@dataclass(frozen=True)
class Part:
    """A mark: its place, the numbers of its shape, and the group it belongs to."""

    role: str
    x: float
    y: float
    across: float
    along: float


@dataclass(frozen=True)
class Picture:
    """The size of a picture, its words and marks in the order of drawing, and ticks by axis."""

    width: float
    height: float
    words: tuple[Word, ...]
    parts: tuple[Part, ...]
    axes: tuple[tuple[str, tuple[Word, ...]], ...]


def picture(svg: str) -> Picture:
    """Return what an SVG shows."""
    root = ElementTree.fromstring(svg)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    words: list[Word] = []
    parts: list[Part] = []
    axes: dict[str, list[Word]] = {}

    def walk(node: ElementTree.Element, x: float, y: float, role: str, axis: str) -> None:
        if node.get("display") == "none" or node.get("opacity") == "0":
            return
        if moved := _MOVED.search(node.get("transform", "")):
            x, y = x + float(moved[1]), y + float(moved[2])
        role = node.get("class", "") if "mark-" in node.get("class", "") else role
        label = node.get("aria-label", "")
        if node.get("aria-roledescription") == "axis":
            axis = f"{label} #{len(axes)}"
            axes[axis] = []
        if node.tag == f"{_SVG}text":
            lines = list(_lines(node, x, y, role))
            words.extend(lines)
            if "role-axis-label" in role and axis:
                axes[axis] += lines
        elif "role-mark" in role and node.tag == f"{_SVG}line":
            across, along = (float(node.get(name, 0)) for name in ("x2", "y2"))
            parts.append(Part(role, x, y, across, along))
        elif "mark-symbol role-mark" in role and node.tag == f"{_SVG}path":
            size = max((abs(float(x)) for x in _NUMBER.findall(node.get("d", "")[:60])), default=0)
            parts.append(Part(role, x, y, size, size))
        for child in node:
            walk(child, x, y, role, axis)

    walk(root, 0.0, 0.0, "", "")
    ticks = tuple((name, tuple(sides)) for name, sides in axes.items())
    return Picture(width, height, tuple(words), tuple(parts), ticks)


def _lines(node: ElementTree.Element, x: float, y: float, role: str) -> Iterator[Word]:
    size = float(node.get("font-size", "11px").removesuffix("px"))
    wider = _SEMIBOLD if node.get("font-weight") == "600" else 1.0
    turned = _TURNED.search(node.get("transform", ""))
    spans = [(node.text or "", 0.0)] if node.text else []
    down = 0.0
    for span in node:
        down += float(span.get("dy", 0))
        spans.append((span.text or "", down))
    for text, below in spans:
        if not text.strip():
            continue
        long = theme.text_width(text, size) * wider
        start = {"middle": -long / 2, "end": -long}.get(node.get("text-anchor", ""), 0.0)
        box = (start, below - _ABOVE * size, start + long, below + _BELOW * size)
        if turned and int(turned[1]) % 360 == 270:
            box = (box[1], -box[2], box[3], -box[0])
        yield Word(text, x + box[0], y + box[1], x + box[2], y + box[3], role)


def faults(shown: Picture) -> Iterator[str]:
    """Yield the faults of a picture: words that cannot be read, marks that are covered."""
    for word in shown.words:
        inside = word.left > -0.5 and word.top > -0.5
        if not (inside and word.right < shown.width + 0.5 and word.bottom < shown.height + 0.5):
            yield f"cut by the edge: {word.text}"
        if word.text.endswith("…"):
            yield f"without its end: {word.text}"
    yield from (
        f"on each other: {a.text} | {b.text}"
        for a, b in combinations(shown.words, 2)
        if a.lies_on(b)
    )
    for name, ticks in shown.axes:
        if "discrete scale" in name:
            widest = max((tick.right - tick.left for tick in ticks), default=0.0)
            if name.startswith("Y") and widest > 0.35 * shown.width + 1:
                yield f"names of {widest:.0f} of {shown.width:.0f} pixels"
        elif name[1:6] == "-axis" and len(ticks) < 3:
            yield f"few ticks: {[tick.text for tick in ticks]} of {name[:60]}"
    yield from _covered(shown)


def _covered(shown: Picture) -> Iterator[str]:
    """Yield marks on words, and intervals wider than their mark that marks cover."""
    marks = [part for part in shown.parts if "mark-symbol" in part.role]
    for word in shown.words:
        if "role-mark" in word.role and any(
            word.left < mark.x < word.right and word.top < mark.y < word.bottom for mark in marks
        ):
            yield f"a mark on the words: {word.text}"
    for number, line in enumerate(shown.parts):
        if "mark-rule" not in line.role or line.along or not line.across:
            continue
        over = [mark for mark in shown.parts[number:] if "mark-symbol" in mark.role]
        over = [mark for mark in over if abs(mark.y - line.y) < mark.along]
        low, high = sorted((line.x, line.x + line.across))
        widest = max((2 * mark.across for mark in over), default=0.0)
        seen = sum(
            all(abs(low + step / 2 - mark.x) > mark.across for mark in over)
            for step in range(round(2 * (high - low)))
        )
        if high - low > widest + 2 and seen < 3:
            yield f"an interval under marks at {line.x:.0f}, {line.y:.0f}"
