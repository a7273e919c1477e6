"""The pytest plugin that installing Kairos registers."""
