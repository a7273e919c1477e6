"""Statements, connections and migrations: the only package that contains SQL and imports the drivers."""
