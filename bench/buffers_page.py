"""Write a table and a plot of buffers by table size into the page of the benchmark."""

from __future__ import annotations

from html import escape

from bench.comparison import IMAGES, PAGE, replace_between
from bench.run_size import Figures

BEGIN, END = "<!-- rows: begin -->", "<!-- rows: end -->"
_COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#475569")
_LEFT, _TOP, _WIDTH, _HEIGHT = 60, 36, 380, 200


def write_growth(figures: Figures) -> None:
    PAGE.write_text(replace_between(PAGE.read_text(), BEGIN, END, _markdown(figures)))
    (IMAGES / "bench-rows.svg").write_text(_plot(figures["rows"]))


def _markdown(figures: Figures) -> str:
    machine, found = figures["machine"], figures["rows"]
    sizes = list(next(iter(found.values())))
    lines = [
        f"{machine['date']}, `{machine['command']}`.",
        "",
        "| buffers, by ended jobs in the table | " + " | ".join(sizes) + " |",
        "|---|" + "--:|" * len(sizes),
    ]
    for statement, buffers in found.items():
        lines.append(f"| {statement} | " + " | ".join(f"{buffers[size]:,}" for size in sizes) + " |")
    return "\n".join([*lines, "", "![Buffers by the size of the table](../images/bench-rows.svg)"])


def _plot(found: Figures) -> str:
    """Return a line for each statement, over sizes that each are ten times the last, as an SVG."""
    sizes = list(next(iter(found.values())))
    most = max(max(buffers.values()) for buffers in found.values())
    across = [_LEFT + _WIDTH * index / max(1, len(sizes) - 1) for index in range(len(sizes))]
    base = _TOP + _HEIGHT

    def height(buffers: float) -> float:
        return base - _HEIGHT * buffers / most

    parts = [
        f'<text x="{x:.0f}" y="{base + 18}" text-anchor="middle">{size}</text>'
        for x, size in zip(across, sizes, strict=True)
    ]
    parts += [
        f'<path d="M{_LEFT} {height(level):.1f}h{_WIDTH}" stroke="#e2e8f0"/>'
        f'<text x="{_LEFT - 6}" y="{height(level) + 4:.1f}" text-anchor="end">{level:,.0f}</text>'
        for level in (0, most / 2, most)
    ]
    for index, (statement, buffers) in enumerate(found.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        points = " ".join(
            f"{x:.1f},{height(buffers[size]):.1f}" for x, size in zip(across, sizes, strict=True)
        )
        y = _TOP + 14 + 20 * index
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<rect x="464" y="{y - 9}" width="12" height="10" fill="{colour}"/>'
            f'<text x="482" y="{y}">{escape(statement)}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 {base + 44}" font-family="sans-serif" '
        'font-size="12" fill="#475569" role="img" aria-label="Buffers a statement touches, by the size of the table">\n'
        '<text x="8" y="20" font-size="14">Buffers a statement touches, by ended jobs in the table</text>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )
