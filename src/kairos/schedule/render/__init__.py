"""The canonical sentence of a plan."""
