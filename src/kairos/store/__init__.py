"""The only folder that knows SQL and the drivers."""
