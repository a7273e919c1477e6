"""The routes, one module for each noun: each parses a request, runs an operation and returns a document."""

from kairos.api import path_converters as path_converters  # before any route: its paths say {id:number}
