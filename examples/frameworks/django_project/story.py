"""Place an order as a view would, and another one that is rolled back; then wait for the shipment."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
django.setup()

from django.db import connection, transaction  # noqa: E402
from shop.jobs import app, ship  # noqa: E402
from shop.models import Order  # noqa: E402

with transaction.atomic():
    order = Order.objects.create(item="a book")
    job = app.on(connection).enqueue(ship.call(order_id=order.pk))  # committed with the order
try:
    with transaction.atomic():
        other = Order.objects.create(item="a lamp")
        app.on(connection).enqueue(ship.call(order_id=other.pk))
        raise RuntimeError("no, wait")
except RuntimeError:
    print("rolled back ->", len(app.jobs(action="ship")) == 1)
print("result ->", app.result(job.id, timeout="60s"))
order.refresh_from_db()
print("shipped ->", order.shipped_at is not None)
app.close()
