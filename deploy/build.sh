#!/bin/sh
# Installs Python, the service's user and its packages on a bare Debian 12, as root. requirements.txt
# must be in /opt/documents-api; the code can be copied there afterwards.
set -eu
home=/opt/documents-api

apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  ca-certificates python3 python3-venv
rm -rf /var/lib/apt/lists/*

getent passwd documents-api >/dev/null ||
  useradd --system --user-group --home-dir "$home" --shell /usr/sbin/nologin documents-api
python3 -m venv "$home/.venv"
"$home/.venv/bin/python" -m pip install --quiet --no-cache-dir --disable-pip-version-check \
  --require-hashes -r "$home/requirements.txt"
# A read-only file system cannot keep compiled modules, so they are compiled now.
"$home/.venv/bin/python" -m compileall -q "$home/.venv"
