#!/bin/sh
# `make release VERSION=1.1.0`: writes the release of this commit into FOLDER: its archive, the list of
# its packages, and their checksums. The same commit gives the same files.
set -eu
version=${1:-} folder=${2:-}
stop() {
  echo "$1" >&2
  exit 1
}
[ -n "$version" ] && [ -n "$folder" ] || stop "Which version? make release VERSION=1.1.0"
cd "$(dirname "$0")/.."
[ -z "$(git status --porcelain)" ] || stop "Not everything is committed: git status"
grep -qxF "version = \"$version\"" pyproject.toml ||
  stop "pyproject.toml has another version: write version = \"$version\" there, and commit it."
grep -qE "^## $(echo "$version" | sed 's/\./\\./g') \([0-9-]+\)$" CHANGELOG.md ||
  stop "CHANGELOG.md has no heading: write \"## $version ($(date +%F))\" above the news, and commit it."
before=$(sed -nE 's/^## ([0-9][0-9.]*) \(.*/\1/p' CHANGELOG.md | grep -vxF "$version" | head -n 1)
[ -z "$before" ] || grep -qxF "## From $before" docs/upgrading.md ||
  stop "docs/upgrading.md does not say what operators of $before do: write a section \"## From $before\"."
python3 tools/sbom.py | cmp -s - docs/sbom.json || stop "docs/sbom.json is not current: make sbom"

name=documents-api-$version
mkdir -p "$folder"
git archive --format=tar HEAD | gzip -n9 >"$folder/$name.tar.gz"
cp docs/sbom.json "$folder/$name.cdx.json"
(cd "$folder" && sha256sum "$name.tar.gz" "$name.cdx.json" >SHA256SUMS)
echo "$folder has the release $version of $(git rev-parse --short HEAD). Next:
  git tag -s v$version && git push origin v$version
  sign SHA256SUMS, and publish all three files; operators give the archive's to deploy/upgrade"
