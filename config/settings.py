"""All settings of the service, read from environment variables.

Importing this module starts nothing. On a laptop, `make run` sets the variables. In production,
`manage.py check` fails if a required one is missing (`config.checks`), before a unit starts.
"""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import dj_database_url

from config import env

BASE_DIR = Path(__file__).resolve().parent.parent
# Decides the apps, the middleware and the URLs. Commands have all of them (`manage.py`).
ROLE = env.choice(
    "ROLE", "all", "api", "pages", help="what a process serves: `api`, `pages` or `all`"
)
SERVES_API = ROLE != "pages"
SERVES_PAGES = ROLE != "api"

# --- Security --------------------------------------------------------------------------------
# Django refuses to use an empty one.
SECRET_KEY = env.text("SECRET_KEY", None, help="50 or more random characters")
SECRET_KEY_FALLBACKS = env.words(
    "SECRET_KEY_FALLBACKS", help="former values, separated by commas, whose signatures stay valid"
)
ALLOWED_HOSTS = env.hosts(
    "ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", help="our host names, separated by commas"
)
# The first must drop headers with underscores, as deploy/nginx.conf does: WSGI reads
# X_Forwarded_For as X-Forwarded-For, to which each adds one address.
TRUSTED_PROXIES = env.integer(
    "TRUSTED_PROXIES", 0, help="the number of our own proxies in front, 1 with deploy/nginx.conf"
)
HTTPS_ONLY = env.boolean(
    "HTTPS_ONLY",
    default=True,
    help="refuses plain HTTP (the API) or redirects it (pages); cookies and HSTS are for HTTPS",
)
DEBUG = not HTTPS_ONLY and env.boolean(
    "DEBUG", default=False, help="pages with tracebacks, for `runserver`; not with `HTTPS_ONLY`"
)
BASE_URL = env.http_url(
    "BASE_URL",
    default="",
    help="where links in e-mails and of invitations lead; if not set, the first of `ALLOWED_HOSTS`",
)
if not BASE_URL and HTTPS_ONLY and ALLOWED_HOSTS:  # else the host that the page was opened with
    BASE_URL = f"https://{ALLOWED_HOSTS[0].lstrip('.')}"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUSTED_PROXIES else None
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS_ONLY
HEALTH_PATHS = ("healthz", "readyz", "metrics")  # over HTTP too, with any Host header
# The API refuses plain HTTP instead: a client that follows redirects would send its key unencrypted
# every time and not notice. Health checks come from the machine itself.
SECURE_REDIRECT_EXEMPT = [r"^api/v1(/|$)", f"^({'|'.join(HEALTH_PATHS)})$"]
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60 if HTTPS_ONLY else 0
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS for subdomains: other services may be there
    "security.W021",  # HSTS preload: it cannot be undone within months
]
CSRF_COOKIE_HTTPONLY = True  # like the session cookie; both are SameSite=Lax
SESSION_ENGINE = "workspaces.accounts.sessions"
SESSION_COOKIE_AGE = 8 * 60 * 60  # seconds after signing in: a working day
SESSION_IDLE_MINUTES = 60  # without a request, after which the admin signs a user out
# Bytes of a form; nginx refuses more before it arrives.
DATA_UPLOAD_MAX_MEMORY_SIZE = 64 * 1024
FILE_UPLOAD_HANDLERS: list[str] = []  # no form uploads a file, so none is ever written to the disk

# --- Applications ----------------------------------------------------------------------------
INSTALLED_APPS = [
    "config.apps.ConfigConfig",
    "workspaces",
    "audit",
    "apikeys",
    "apikeys.usage",
    "documents",
    "events",
    "events.webhooks",
    "rest_framework",
    "django.contrib.auth",
    "django.contrib.contenttypes",
]
MIDDLEWARE = [
    "apikeys.usage.middleware.count_usage",  # after the response to every request
    "config.request.middleware.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "config.request.middleware.HostMiddleware",
]
if SERVES_PAGES:  # each request of the API would take 11 to 16 % longer
    INSTALLED_APPS += [
        "django_otp",
        "django_otp.plugins.otp_static",
        "django_otp.plugins.otp_totp",
        "config.console.apps.AdminConfig",
        "django.contrib.sessions",
        "django.contrib.messages",
        "django.contrib.staticfiles",
    ]
    MIDDLEWARE += [
        "whitenoise.middleware.WhiteNoiseMiddleware",
        "config.console.csp.ContentSecurityPolicy",
        "config.request.middleware.DatabaseMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "workspaces.accounts.sessions.SessionEndMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django_otp.middleware.OTPMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
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
            ]
        },
    }
]
STATIC_URL = "/static/"
STATICFILES_DIRS = [("examples", BASE_DIR / "examples")]
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
# `collectstatic` writes them there, compressed, with a hash in each name: browsers and caches keep
# them for a year.
STATIC_ROOT = env.text(
    "STATIC_ROOT", help="the folder that `collectstatic` fills; if not set, `static` in the release"
) or str(BASE_DIR / "static")

# --- Database --------------------------------------------------------------------------------
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Time-outs of statements and locks are the role's (deploy/roles.sql), the unit's or manage.py's
# (PGOPTIONS).
DATABASES: dict[str, Any] = {
    "default": dj_database_url.parse(
        env.database_url(
            "DATABASE_URL",
            help="postgresql://USER:PASSWORD@HOST:PORT/NAME; several hosts: "
            "@/NAME?host=A,B&port=1,2; a socket: @%2FFOLDER/NAME",
        ),
        conn_max_age=None,  # one persistent connection per thread
        conn_health_checks=True,
        disable_server_side_cursors=True,  # for poolers
    )
}
DATABASES["default"]["OPTIONS"] = {
    "connect_timeout": 3,  # seconds
    "tcp_user_timeout": 5000,  # milliseconds until a dead connection is closed; Linux only
    "keepalives_idle": 30,  # seconds
    "prepare_threshold": 0,  # lets `config.connections.fetch` prepare its statements
    **DATABASES["default"].get("OPTIONS", {}),  # what the URL says wins
}
DATABASE_SEALER_URL = env.database_url(
    "DATABASE_SEALER_URL",
    default="",
    help="the database as the role `documents_sealer`, for `seal_audit`, if there is such a role",
)

# --- Object storage --------------------------------------------------------------------------
_ENCRYPTION = env.text(
    "S3_ENCRYPTION", help="`AES256` or `aws:kms`, if the bucket demands it of new objects"
)
_PDFS = {
    "endpoint_url": env.http_url(
        "S3_ENDPOINT_URL", path=True, help="the URL of the object storage"
    ),
    "bucket_name": env.text("S3_BUCKET", None, help="the bucket for the PDFs"),
    # Without keys, boto3 looks for some.
    "access_key": env.text(
        "S3_ACCESS_KEY_ID",
        help="the access key of the object storage; without one, `AWS_…` variables or the "
        "machine's role",
    )
    or None,
    "secret_key": env.text("S3_SECRET_ACCESS_KEY", help="the secret key of the object storage")
    or None,
    "security_token": None,  # a token among boto3's own variables is not of these keys
    "region_name": env.text("S3_REGION", "us-east-1", help="the region of the bucket itself"),
    "object_parameters": {"ServerSideEncryption": _ENCRYPTION} if _ENCRYPTION else {},
}
_WITNESS = {
    "bucket_name": env.text("AUDIT_WITNESS_BUCKET", help="the bucket of the witness `bucket`"),
    "access_key": env.text(
        "AUDIT_WITNESS_ACCESS_KEY_ID", help="that bucket's access key, for `seal_audit` only"
    ),
    "secret_key": env.text(
        "AUDIT_WITNESS_SECRET_ACCESS_KEY", help="that bucket's secret key, for `seal_audit` only"
    ),
}
_S3 = "documents.storage.PdfStorage"
STORAGES: dict[str, Any] = {
    "default": {"BACKEND": _S3, "OPTIONS": _PDFS},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
# Only the sealer has its key. Without one, boto3 would look for another one on this machine.
if _WITNESS["bucket_name"] and _WITNESS["access_key"]:
    STORAGES["witness"] = {"BACKEND": _S3, "OPTIONS": {**_PDFS, **_WITNESS}}
X_ACCEL_DOWNLOADS = env.boolean(
    "X_ACCEL_DOWNLOADS", default=False, help="nginx serves the downloads (deploy/nginx.conf)"
)
USAGE_FLUSH_SECONDS = env.integer(
    "USAGE_FLUSH_SECONDS", 3, help="seconds of usage of keys that a killed process loses"
)

# --- Counters of django-ratelimit: the rate limit (`apikeys.throttling`) and sign-ins ----------
REDIS_URL = env.redis_url(
    "REDIS_URL",
    help="`redis://:PASSWORD@HOST:PORT/NUMBER`, `rediss://` for TLS, "
    "`unix://:PASSWORD@PATH?db=NUMBER` for a socket, `memory://` for one process",
)
COUNT_IN_PROCESS = REDIS_URL.startswith("memory://")
REDIS_TIMEOUT = 0.25  # seconds; after that this process counts
CACHES: dict[str, Any] = {
    "default": {  # it counts too, while Redis is out of reach
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        # Enough for many accounts and addresses: an evicted counter starts again at zero.
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    },
    "counters": {"BACKEND": "config.cache.CounterCache", "LOCATION": REDIS_URL},
}
RATELIMIT_USE_CACHE = "default" if COUNT_IN_PROCESS else "counters"

# --- The audit log ---------------------------------------------------------------------------
AUDIT_SIGNING_KEY = env.text(
    "AUDIT_SIGNING_KEY", help="the secret key of `seal_audit` only, from `manage.py make_audit_key`"
)
AUDIT_PUBLIC_KEYS = env.words(
    "AUDIT_PUBLIC_KEYS", help="public keys of checkpoints, also former ones, separated by commas"
)
AUDIT_WITNESSES = env.words(
    "AUDIT_WITNESSES",
    "stdout",
    help="where `seal_audit` writes checkpoints: `stdout`, `file:PATH`, `bucket`, with commas",
)
AUDIT_DAMAGE_SETTLED = env.text(
    "AUDIT_DAMAGE_SETTLED", help="ends the warning of the failed verification with this time"
)

# --- The API and webhooks --------------------------------------------------------------------
UPGRADE_URL = env.text(
    "UPGRADE_URL",
    "https://example.com/settings/billing",
    help="where a workspace admin changes the plan; the `href` of a 402. Production needs its own",
)
WEBHOOK_TARGETS = env.choice(
    "WEBHOOK_TARGETS", "public", "any", help="where to: public HTTPS addresses, or `any` address"
)
SUPPORT_EMAIL = env.text("SUPPORT_EMAIL", help="the address that pages name where users need help")
# The rest of an API view's behaviour is in `config.api.viewsets`. These are settings, since
# `config` does not import the apps.
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["apikeys.authentication.BearerKeyAuthentication"],
    "DEFAULT_THROTTLE_CLASSES": ["apikeys.throttling.KeyThrottle"],
    "DEFAULT_PERMISSION_CLASSES": ["workspaces.api_access.WorkspaceMayUseApi"],
    "EXCEPTION_HANDLER": "config.api.exceptions.exception_handler",
    "UNAUTHENTICATED_USER": None,
}

# --- Time and sign-in ------------------------------------------------------------------------
TIME_ZONE = "UTC"
USE_I18N = False
_OPTIONS = {"MinimumLength": {"min_length": 12}}
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": f"django.contrib.auth.password_validation.{name}Validator",
        "OPTIONS": _OPTIONS.get(name, {}),
    }
    for name in ("UserAttributeSimilarity", "MinimumLength", "CommonPassword", "NumericPassword")
]
SECOND_FACTOR = env.choice(
    "SECOND_FACTOR",
    "admins",
    "operators",
    "nobody",
    help="who needs a second factor: `admins`, everybody who may sign in; `operators`; `nobody`",
)
# Seconds that the next code must wait after a wrong one; they double with each further one.
OTP_TOTP_THROTTLE_FACTOR = OTP_STATIC_THROTTLE_FACTOR = 0.25
OTP_TOTP_ISSUER = "Document API"  # how an app names the account

# --- E-mail (`workspaces.mails`) -------------------------------------------------------------
_mail = urlsplit(
    env.url(
        "EMAIL_URL",
        ("smtp", "smtp+tls", "smtps", "mailbox"),
        default="",
        help="the mail server: `smtp://USER:PASSWORD@HOST:PORT`, `smtp+tls://…` (STARTTLS) or "
        "`smtps://…` (TLS); without one no e-mail is sent",
    )
)
ON_LAPTOP = _mail.scheme == "mailbox"  # `make run`: e-mails stay in the table
EMAIL_HOST = _mail.hostname or ""
EMAIL_PORT = _mail.port or {"smtp+tls": 587, "smtps": 465}.get(_mail.scheme, 25)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = unquote(_mail.username or ""), unquote(_mail.password or "")
EMAIL_USE_TLS, EMAIL_USE_SSL = _mail.scheme == "smtp+tls", _mail.scheme == "smtps"
EMAIL_TIMEOUT = 10  # seconds, for each response of the mail server
DEFAULT_FROM_EMAIL = env.text(
    "DEFAULT_FROM_EMAIL", "webmaster@localhost", help="the sender of e-mails"
)
PASSWORD_RESET_TIMEOUT = 60 * 60  # seconds in which a link of an e-mail sets a new password

# --- Log and metrics -------------------------------------------------------------------------
LOG_FORMAT = env.choice("LOG_FORMAT", "text", "json", help="`json` for one object a line")
_LINE = "{asctime} {levelname} {name} [{request_id}] {message}"
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "config.request.logs.RedactingFormatter", "format": _LINE, "style": "{"},
        "json": {"()": "config.request.logs.JsonFormatter"},
    },
    "filters": {
        "has_traceback": {
            "()": "django.utils.log.CallbackFilter",
            "callback": lambda record: bool(record.exc_info),
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        # Without Django's own handlers, which send mail and print.
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "_granian": {"handlers": [], "level": "INFO", "propagate": True},
        # Only crashes, with their traceback; the access log has every status.
        "django.request": {"level": "ERROR", "filters": ["has_traceback"]},
        # An unknown Host header is a 400 in the access log, without a traceback.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}
