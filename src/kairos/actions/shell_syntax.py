"""Find the part of a command line that only a shell can interpret."""

from __future__ import annotations

import re

# Tokens with a meaning that an argv cannot express.
_TWO = ("&&", "||", ">>", "<<", "$(", "2>")
_ONE = {
    "|": "a pipe",
    "&": "running in the background",
    ";": "a second command",
    "<": "a redirection",
    ">": "a redirection",
    "(": "a subshell",
    ")": "a subshell",
    "`": "a command's output",
    "$": "a variable",
    "*": "a pattern of file names",
    "?": "a pattern of file names",
    "[": "a pattern of file names",
    "{": "a list of words",
    "~": "a home folder",
    "#": "a comment",
    "!": "a negation",
    "\n": "a second line",
}
_AT_WORD_START = frozenset("~#!")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=\S*")
_VARIABLE = re.compile(r"\$(\w+|\{[^}]*\}?|.)?")
# Shell builtins: no program has that name, or it does nothing useful.
_BUILT_IN = frozenset(
    {
        ".",
        ":",
        "alias",
        "cd",
        "command",
        "eval",
        "exec",
        "exit",
        "export",
        "hash",
        "local",
        "read",
        "readonly",
    }
    | {"return", "set", "shift", "source", "trap", "ulimit", "umask", "unalias", "unset", "wait"}
    | {"if", "case", "for", "while", "until"}
)


def needs_shell(line: str) -> str | None:
    """Return the token in the line that needs a shell, or None."""
    first = line.split(None, 1)[0] if line.split() else ""
    if _ASSIGNMENT.match(first):
        return f"{_ASSIGNMENT.match(first)[0]} (a variable set for one command)"  # type: ignore[index]
    if first in _BUILT_IN:
        return f"{first} (a word of the shell)"
    quote, index = "", 0
    while index < len(line):
        letter = line[index]
        if quote == "'":
            quote = "" if letter == "'" else quote
        elif letter == "\\":
            index += 1
        elif letter in "'\"":
            quote = "" if letter == quote else quote or letter
        elif (found := _token(line, index, quote)) is not None:
            return found
        index += 1
    return "a quote without its end" if quote else None


def _token(line: str, index: int, quote: str) -> str | None:
    letter = line[index]
    if letter not in _ONE or (quote and letter not in "$`"):
        return None
    if letter in _AT_WORD_START and index and not line[index - 1].isspace():
        return None
    if letter == "$":
        shown = _VARIABLE.match(line, index)
        return f"{shown[0] if shown else letter} ({_ONE[letter]})"
    two = line[index : index + 2]
    return f"{two if two in _TWO else letter} ({_ONE[letter]})".replace("\n", "a line's end")
