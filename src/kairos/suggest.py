"""Suggest the known name that is closest to an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'queue'?" for a name close to a known one, or else what is known."""
    names = sorted(known)
    return nearest(name, names) or f" Known: {', '.join(names) or 'none'}."


def nearest(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'queue'?" for a name close to a known one, or else nothing."""
    close = get_close_matches(name, sorted(known), 1, 0.6)
    return f" Did you mean {close[0]!r}?" if close else ""
