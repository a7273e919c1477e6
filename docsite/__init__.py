"""The documentation site: what is generated from the code, and how it is built."""
