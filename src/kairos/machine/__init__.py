"""The parts that users program with: machines, steps, outcomes, retries. Independent of the database."""
