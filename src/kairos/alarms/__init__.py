"""Alarms: the kinds there are, and the decision which to raise, refresh and clear."""
