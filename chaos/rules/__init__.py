"""The rules of a run, each a function from the record to the sentences about what broke it."""
