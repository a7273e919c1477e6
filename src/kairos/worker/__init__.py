"""What runs jobs: pick, execute, decide, commit; and the loops that keep it honest."""
