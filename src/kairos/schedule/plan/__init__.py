"""The normalised value of a schedule, its evaluation into instants, and its stored form."""
