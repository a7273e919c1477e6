"""The worker: it picks jobs, executes steps, decides and commits their outcomes, and runs the maintenance loops."""
