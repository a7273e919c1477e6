"""The rules that the checker applies: each is a function that yields a sentence for each violation in a record."""
