"""Programs run by Pythons that have the peers; they know nothing of Kairos."""
