"""All settings of the service, read from environment variables.

Importing this module starts nothing and needs nothing: a laptop gets its variables from
`config.embedded` (through manage.py or the tests) before Django loads. In production the
WSGI entry refuses to start while a required one is missing (`config.checks`).
"""

from pathlib import Path
from typing import Any
from wsgiref.headers import Headers

import dj_database_url

from config import env

BASE_DIR = Path(__file__).resolve().parent.parent

# What production cannot do without: variable → what it is for.
REQUIRED = {
    "SECRET_KEY": "a long random string; it signs cursors and sessions",
    "DATABASE_URL": "postgresql://USER:PASSWORD@HOST:PORT/NAME",
    "REDIS_URL": "redis://HOST:PORT/NUMBER, or memory:// if the service is one process",
    "S3_ENDPOINT_URL": "the address of the S3-compatible store that holds the PDFs",
    "S3_BUCKET": "the bucket that holds the PDFs",
    "S3_ACCESS_KEY_ID": "the store's access key",
    "S3_SECRET_ACCESS_KEY": "the store's secret key",
}
MISSING = [name for name in REQUIRED if not env.text(name)]

# --- Security --------------------------------------------------------------------------------

SECRET_KEY = env.text("SECRET_KEY", "not-set")
DEBUG = False  # in every environment: a traceback in a page is a leak; it is in the log instead
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")
# How many proxies of ours stand in front; each adds one address to X-Forwarded-For.
TRUSTED_PROXIES = env.integer("TRUSTED_PROXIES", 0)
# Set where people reach the admin over HTTPS only; `manage.py run` on a laptop has no TLS.
HTTPS_ONLY = env.boolean("HTTPS_ONLY", default=True)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS_ONLY
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
CSRF_FAILURE_VIEW = "config.error_pages.form_refused"
CSRF_COOKIE_HTTPONLY = True  # as the session's is by default; both are SameSite=Lax
SESSION_COOKIE_AGE = 8 * 60 * 60  # seconds from signing in: a working day, however busy
X_FRAME_OPTIONS = "DENY"

# --- Applications ----------------------------------------------------------------------------

INSTALLED_APPS = [
    "config.apps.ConfigConfig",
    "workspaces",
    "audit",
    "apikeys",
    "documents",
    "pgtrigger",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "config.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "config.middleware.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "config.middleware.CsrfViewMiddleware",
    "config.middleware.AuthenticationMiddleware",
    "config.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]
STATIC_URL = "/static/"
# Served from where they lie, most of them in packages; there is nothing to collect.
STATICFILES_DIRS = [("examples", BASE_DIR / "examples")]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False


def WHITENOISE_ADD_HEADERS_FUNCTION(headers: Headers, path: str, url: str) -> None:  # noqa: N802
    """A file is a part of a page, never one of its own; packages bring HTML along."""
    headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"


# --- Database --------------------------------------------------------------------------------

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES: dict[str, Any] = {
    "default": dj_database_url.parse(
        env.text("DATABASE_URL", "postgresql:///not-set"),
        conn_max_age=None,  # one connection a thread, kept
    )
}
_options = DATABASES["default"].get("OPTIONS", {})
DATABASES["default"]["OPTIONS"] = {
    **_options,
    # The API's prepared statements are planned once: each has one good plan, along its index,
    # whatever the values are. Django's own statements are not prepared.
    "options": f"{_options.get('options', '')} -c plan_cache_mode=force_generic_plan".strip(),
    # A database out of reach is a 503, not a hanging request: when it cannot be connected to
    # (seconds), and when it vanishes from a connection that stands (milliseconds; Linux).
    "connect_timeout": 5,
    "tcp_user_timeout": 5000,
}

# --- The store of the PDFs -------------------------------------------------------------------

STORAGES: dict[str, Any] = {
    "default": {
        "BACKEND": "documents.storage.PdfStorage",
        "OPTIONS": {
            "endpoint_url": env.text("S3_ENDPOINT_URL") or None,
            "bucket_name": env.text("S3_BUCKET"),
            "access_key": env.text("S3_ACCESS_KEY_ID"),
            "secret_key": env.text("S3_SECRET_ACCESS_KEY"),
            "region_name": env.text("S3_REGION", "us-east-1"),
        },
    },
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

# How many requests a process answers at once, by granian's own variable: as many connections to
# the store are kept. Two are quickest where nginx carries the downloads (`make bench`): more wait
# for each other. A laptop has four, since each download takes one until its last byte.
SERVER_THREADS = env.integer("GRANIAN_BLOCKING_THREADS", 4, minimum=1)
# Downloads are carried by an nginx in front (deploy/nginx.conf) instead of by this process.
NGINX_HANDOFF = env.boolean("NGINX_HANDOFF", default=False)

# --- Counters: the rate limit (`apikeys.counter`) and sign-ins (django-ratelimit, in the cache) ---

REDIS_URL = env.text("REDIS_URL", "redis://not-set")
COUNT_IN_PROCESS = REDIS_URL == "memory://"
REDIS_TIMEOUT = 0.25  # seconds; a request that waited so long passes uncounted
CACHES: dict[str, Any] = {
    "default": {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {
            "IGNORE_EXCEPTIONS": True,  # people can sign in while Redis is out of reach
            "SOCKET_CONNECT_TIMEOUT": REDIS_TIMEOUT,
            "SOCKET_TIMEOUT": REDIS_TIMEOUT,
        },
    }
}
if COUNT_IN_PROCESS:
    CACHES["default"] = {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        # Room for many accounts and addresses: a counter that is evicted starts again at zero.
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
RATELIMIT_FAIL_OPEN = True

# --- The audit log ---------------------------------------------------------------------------

# Which workspaces an admin may read the log of, and which ones a filter offers. A setting, since
# `audit` imports no other app.
AUDIT_WORKSPACE_DIRECTORY = "workspaces.directory"

# --- The API ---------------------------------------------------------------------------------

# Where a workspace's admin moves to another plan; the `href` of a 402.
UPGRADE_URL = env.text("UPGRADE_URL", "https://example.com/settings/billing")
# The rest of an API view's behaviour is in `config.api.viewsets`. These are settings, since
# `config` does not import the apps.
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["apikeys.authentication.BearerKeyAuthentication"],
    "DEFAULT_THROTTLE_CLASSES": ["apikeys.throttling.KeyThrottle"],
    "DEFAULT_PERMISSION_CLASSES": ["workspaces.api_access.WorkspaceMayUseApi"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
}

# The OpenAPI document; `config.openapi.views` serves it.
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "OAS_VERSION": "3.1.0",
    "TITLE": "Workspace Document Read API",
    "VERSION": "1.0.0",
    "SERVERS": [{"url": "/", "description": "The server that this document comes from"}],
    "TAGS": [
        {"name": "Workspace", "description": "Whose key this is."},
        {"name": "Documents", "description": "The workspace's documents and their PDFs."},
        {"name": "Description", "description": "This OpenAPI document."},
    ],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SORT_OPERATIONS": False,  # as in config.urls
    "SORT_OPERATION_PARAMETERS": False,  # as each schema.py has them
    "POSTPROCESSING_HOOKS": ["config.openapi.hooks.finish"],
}

# --- Language, time, sign-in -----------------------------------------------------------------

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
FORMAT_MODULE_PATH = "config.formats"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# --- Log -------------------------------------------------------------------------------------

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "config.logs.RedactingFormatter",
            "format": "{asctime} {levelname} {name} [{request_id}] {message}",
            "style": "{",
        }
    },
    "filters": {
        "request_id": {"()": "config.logs.RequestIdFilter"},
        "has_traceback": {
            "()": "django.utils.log.CallbackFilter",
            "callback": lambda record: bool(record.exc_info),
        },
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["request_id"],
        }
    },
    "root": {"handlers": ["stderr"], "level": env.text("LOG_LEVEL", "INFO").upper()},
    "loggers": {
        # Its handlers mail and print on their own; everything goes through ours instead.
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        # The access log has every status; from here only crashes, with their traceback.
        "django.request": {"level": "ERROR", "filters": ["has_traceback"]},
        # A stranger's Host header is a 400 in the access log, not a traceback for each.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}
