"""The settings that matter here; yours has more."""

import os
from urllib.parse import parse_qs, unquote, urlsplit

_url = urlsplit(os.environ["DATABASE_URL"])

SECRET_KEY = "for this example only"  # noqa: S105
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["kairos.integrations.django", "shop"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _url.path.lstrip("/"),
        "USER": unquote(_url.username or ""),
        "PASSWORD": unquote(_url.password or ""),
        "HOST": _url.hostname or parse_qs(_url.query).get("host", [""])[0],
        "PORT": str(_url.port or ""),
    }
}
KAIROS_APP = "shop.jobs:app"  # what `manage.py kairos worker` runs
