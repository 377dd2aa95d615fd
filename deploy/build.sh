#!/bin/sh
# Installs Python, the service's user and its packages on a bare Debian, as root, for the release
# in whose folder it is. The image copies the code after it has run.
set -eu
cd "$(dirname "$0")/.."

if [ ! -e /etc/ssl/certs/ca-certificates.crt ] || ! python3 -c 'import ensurepip'; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    ca-certificates python3 python3-venv
  rm -rf /var/lib/apt/lists/*
fi

getent passwd documents-api >/dev/null || useradd --system --user-group \
  --home-dir /opt/documents-api --shell /usr/sbin/nologin documents-api
python3 -m venv .venv
.venv/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check \
  --require-hashes -r requirements.txt
# The image copies the code later, and collects its files then.
[ ! -f manage.py ] || DJANGO_SETTINGS_MODULE=config.settings \
  .venv/bin/python -m django collectstatic --no-input --verbosity 0
# The service cannot write compiled modules, so they are compiled now.
.venv/bin/python -m compileall -q .
