"""The record types of Kairos, each declared once: its fields, their columns, their names and types in JSON."""

from kairos.shapes.shape import document, parse, read

__all__ = ["document", "parse", "read"]
