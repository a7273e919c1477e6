"""One module for each noun: parse, then a verb, then render."""

from kairos.api import numbers as numbers  # before any route: its paths say {id:number}
