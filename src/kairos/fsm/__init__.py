"""The lifecycle of jobs, and how state machines are described, checked and drawn. No I/O."""
