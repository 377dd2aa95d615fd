"""Settings of a process that serves the API only: what pages need would take 11 to 16 % longer."""

from config.settings import *  # noqa: F403
from config.settings import API_MIDDLEWARE, SILENCED_SYSTEM_CHECKS

API_ONLY = True
ROOT_URLCONF = "config.api_urls"
MIDDLEWARE = API_MIDDLEWARE
# The middleware of pages; commands are run with these settings too, in the container `api`.
_OF_PAGES = ["admin.E408", "admin.E409", "admin.E410", "security.W003"]
SILENCED_SYSTEM_CHECKS = [*SILENCED_SYSTEM_CHECKS, *_OF_PAGES]
