"""Kairos over HTTP, for programs that cannot reach the database."""

from kairos.remote.client import KairosClient

__all__ = ["KairosClient"]
