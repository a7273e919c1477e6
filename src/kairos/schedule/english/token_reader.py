"""A cursor over tokens for the recursive descent."""

from __future__ import annotations

from datetime import date, timedelta, tzinfo
from typing import TYPE_CHECKING, NoReturn

from kairos.schedule.english.lexer import Token
from kairos.schedule.errors import IntentError
from kairos.schedule.plan.recurrence import DAY_SECONDS
from kairos.schedule.timezones import EPOCH_ORDINAL, to_local

if TYPE_CHECKING:
    from kairos.schedule.english.draft import ClockTime, DayChoice

END = Token("end", "", "", 0, 0)
PADDING = [END] * 16
WORDLIKE = frozenset(("word", "punctuation", "ordinal"))


class TokenReader:
    """A cursor over the tokens of a text. `dated` says whether the result depends on the local day."""

    def __init__(self, text: str, tokens: list[Token], now: int, zone: tzinfo) -> None:
        self.text = text
        self.tokens = tokens
        self.index = 0
        self.now = now
        self.zone = zone
        self.dated = False
        days, self.time_of_day = divmod(to_local(zone, now), DAY_SECONDS)
        self._today = date.fromordinal(days + EPOCH_ORDINAL)
        # Padded, so that looking ahead never runs off the end.
        self._padded = [*tokens, *PADDING]
        self._words = [token.text if token.kind in WORDLIKE else "" for token in self._padded]

    @property
    def today(self) -> date:
        """The local day. Reading it marks the result as dependent on the zone."""
        self.dated = True
        return self._today

    def in_days(self, days: int) -> date:
        return self.today + timedelta(days=days)

    @property
    def done(self) -> bool:
        return self.index >= len(self.tokens)

    def peek(self, ahead: int = 0) -> Token:
        return self._padded[self.index + ahead]

    def take(self) -> Token:
        token = self._padded[self.index]
        self.index += 1
        return token

    def at(self, *texts: str, ahead: int = 0) -> bool:
        """Whether the next token is one of these words or marks."""
        return self._words[self.index + ahead] in texts

    def ahead_of(self, texts: tuple[str, ...]) -> bool:
        """Whether one of these words or marks comes later."""
        return any(word in texts for word in self._words[self.index : len(self.tokens)])

    def accept(self, *texts: str) -> Token | None:
        """Take the next token if it is one of these words or marks."""
        if self._words[self.index] in texts:
            self.index += 1
            return self._padded[self.index - 1]
        return None

    def accept_phrase(self, *words: str) -> bool:
        """Take all these words in this order, or none of them."""
        if self._words[self.index] != words[0]:
            return False
        if self._words[self.index : self.index + len(words)] != list(words):
            return False
        self.index += len(words)
        return True

    def kind(self, *kinds: str, ahead: int = 0) -> bool:
        return self.peek(ahead).kind in kinds

    def refuse(
        self,
        message: str,
        since: int | ClockTime | DayChoice | None = None,
        suggestions: tuple[str, ...] = (),
        until: int | None = None,
    ) -> NoReturn:
        """Refuse the tokens from index `since` up to (not including) `until`, or the next one.

        `since` may be a time or a choice of days, whose tokens are then refused.
        """
        if since is not None and not isinstance(since, int):
            until = since.last + 1
            since = since.first
        first = self.index if since is None else since
        last = (max(self.index, first + 1) if until is None else until) - 1
        if not self.tokens or first >= len(self.tokens):
            raise IntentError(
                message, text=self.text, position=len(self.text), length=0, suggestions=suggestions
            )
        last = min(max(last, first), len(self.tokens) - 1)
        start = self.tokens[first].start
        raise IntentError(
            message,
            text=self.text,
            position=start,
            length=self.tokens[last].end - start,
            suggestions=suggestions,
        )

    def rewritten(self, first: int, until: int, written: str) -> tuple[str, str]:
        """The text with some tokens replaced, and the same with a time of day."""
        start, end = self.tokens[first].start, self.tokens[until - 1].end
        text = f"{self.text[:start]}{written}{self.text[end:]}".strip()
        return text, f"{text} at 09:00"

    def accept_separator(self) -> bool:
        """Take a comma, an “and”, or both; return whether there was one."""
        if self.accept(",", ";"):
            self.accept("and", "&")
            return True
        return self.accept("and", "&", "/") is not None
