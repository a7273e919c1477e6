"""One module for each noun: parse, then a verb, then render."""
