"""Notations with a specification of their own: cron, ISO 8601, RFC 5545 rules, systemd calendar events."""
