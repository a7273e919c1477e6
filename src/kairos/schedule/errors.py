"""The error for an intent that is not fully understood."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kairos.errors import BadRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class IntentError(BadRequest):
    """A text that cannot be understood. `position` and `length` locate the words at fault; each suggestion parses."""

    code = "INTENT"

    def __init__(
        self, message: str, *, text: str, position: int = 0, length: int = 0, suggestions: Sequence[str] = ()
    ) -> None:
        super().__init__(message, field="when")
        self.text = text
        self.position = max(0, min(position, len(text)))
        self.length = max(1, min(length, len(text) - self.position)) if text else 0
        self._suggestions = tuple(suggestions)
        self._parses: Callable[[str], bool] | None = None

    @property
    def suggestions(self) -> tuple[str, ...]:
        """Alternatives that parse, computed on first use."""
        if self._parses is not None:
            kept = tuple(filter(self._parses, dict.fromkeys(self._suggestions)))
            self._suggestions, self._parses = kept or ("every day at 09:00",), None
        return self._suggestions

    def suggest_only(self, parses: Callable[[str], bool]) -> IntentError:
        """Drop the suggestions that `parses` rejects, when they are first read."""
        self._parses = parses
        return self

    def __str__(self) -> str:
        shown = "".join(character if character.isprintable() else " " for character in self.text)
        lines = [self.message, f"  {shown}", f"  {' ' * self.position}{'^' * max(1, self.length)}"]
        if self.suggestions:
            lines.append("try: " + " | ".join(self.suggestions))
        return "\n".join(lines)
