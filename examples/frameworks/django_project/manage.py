"""A Django project with Kairos.

$ export DATABASE_URL=postgresql://…
$ python manage.py migrate && python manage.py kairos migrate
$ python manage.py kairos worker
"""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
    execute_from_command_line(sys.argv)
