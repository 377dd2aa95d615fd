"""What `django-admin startproject` writes, and what the packages' own pages say to add."""

import os

import dj_database_url

SECRET_KEY = os.environ["SECRET_KEY"]
ALLOWED_HOSTS = ["127.0.0.1"]
_DJANGO = ("auth", "contenttypes", "sessions", "messages")
INSTALLED_APPS = [f"django.contrib.{app}" for app in _DJANGO]
INSTALLED_APPS += ["rest_framework", "workspaces", "audit", "apikeys", "documents"]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "bench.peers.drf.views"
DATABASES = {"default": dj_database_url.parse(os.environ["DATABASE_URL"])}
_REDIS = "django.core.cache.backends.redis.RedisCache"
CACHES = {"default": {"BACKEND": _REDIS, "LOCATION": os.environ["REDIS_URL"]}}
TIME_ZONE = "UTC"
REST_FRAMEWORK = {"DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"]}
ON_LAPTOP = False  # checks of the apps ask for it
