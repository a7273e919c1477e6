"""One program for each peer, run by a Python that has the peer; they import nothing of Kairos."""
