"""The jobs of the shop."""

from django.utils import timezone

from kairos import Backoff, SyncKairos
from kairos.integrations.django import database_url, django_connections

app = SyncKairos(database_url())
app.around_step(django_connections)  # as around a request: a restarted database is met with a new connection


@app.job(queue="orders", retry=Backoff(attempts=5, base="1s"))
def ship(order_id: int) -> str:
    """A plain function runs in a thread, where Django's ORM is at home."""
    from shop.models import Order

    order = Order.objects.get(pk=order_id)
    order.shipped_at = timezone.now()
    order.save()
    return f"shipped {order.item}"
