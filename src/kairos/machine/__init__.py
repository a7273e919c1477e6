"""What users write: machines, steps, outcomes, retries. Knows nothing of databases."""
