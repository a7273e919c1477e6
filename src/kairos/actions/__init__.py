"""Machines that ship with Kairos, and the one way by which it calls out."""
