"""An app with only the built-in actions, for workers without an app of their own."""

from __future__ import annotations

from kairos.app import Kairos
from kairos.errors import ConfigError

app = Kairos()
if not app.settings.actions:
    raise ConfigError(
        'name the app to run, or turn built-in actions on with actions = ["command"] in kairos.toml.'
    )
