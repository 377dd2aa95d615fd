"""The peer's WSGI entry."""

import os

from django.core.wsgi import get_wsgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "bench.peers.drf.settings"

application = get_wsgi_application()
