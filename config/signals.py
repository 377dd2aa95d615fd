"""Signals between parts that do not import each other."""

from django.dispatch import Signal

# Sent by a server process before it ends, with `patience`: seconds that what is being sent or
# recorded may still take.
breaking_off = Signal()

# Sent by `migrate` once it has applied or reverted migrations, with their `names`.
migrated = Signal()
