"""English phrases: a lexer, a recursive-descent grammar, and the compilation of what was read."""
