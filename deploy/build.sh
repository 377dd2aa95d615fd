#!/bin/sh
# Makes the service's user and the release's virtual environment, as root, in whose folder it is. The
# image copies the code after it has run, and runs it again.
set -eu
cd "$(dirname "$0")/.."
getent passwd documents-api >/dev/null || useradd --system --user-group \
  --home-dir /opt/documents-api --shell /usr/sbin/nologin documents-api
python3 -m venv .venv
.venv/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check \
  --require-hashes -r requirements.txt
[ ! -f manage.py ] || DJANGO_SETTINGS_MODULE=config.settings \
  .venv/bin/python -m django collectstatic --no-input --verbosity 0
# The service cannot write compiled modules, so they are compiled now.
.venv/bin/python -m compileall -q .
