"""Kairos in a Django project: `INSTALLED_APPS = [..., "kairos.integrations.django"]`, then `manage.py kairos`."""

from kairos.integrations.django.connections import django_connections
from kairos.integrations.django.database import database_url

__all__ = ["database_url", "django_connections"]
