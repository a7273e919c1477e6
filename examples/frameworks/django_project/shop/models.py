"""An order, and when it was shipped."""

from django.db import models


class Order(models.Model):
    item = models.CharField(max_length=100)
    shipped_at = models.DateTimeField(null=True)
