"""How the dashboard and the terminal show each state; never by colour alone."""

from __future__ import annotations

from typing import NamedTuple

from kairos.fsm.lifecycle import JobState


class StateStyle(NamedTuple):
    """`tone` and `glyph` are for the dashboard, `symbol` and `colour` for a terminal."""

    tone: str
    glyph: str
    symbol: str
    colour: str


STATE_STYLES = {
    JobState.SCHEDULED: StateStyle("slate", "clock", "◷", "bright_black"),
    JobState.PENDING: StateStyle("amber", "dots", "○", "yellow"),
    JobState.RUNNING: StateStyle("blue", "spinner", "▶", "blue"),
    JobState.WAITING: StateStyle("violet", "envelope", "◆", "magenta"),
    JobState.SUCCESS: StateStyle("green", "check", "✓", "green"),
    JobState.FAILED: StateStyle("red", "cross", "✗", "red"),
    JobState.CANCELLED: StateStyle("grey", "slash", "⊘", "bright_black strike"),
    JobState.EXPIRED: StateStyle("orange", "hourglass", "⧗", "dark_orange"),
}
