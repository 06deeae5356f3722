#!/usr/bin/env bash
# Builds the site of docs/ into a folder (default: target/site), with plain text for assistants. Needs mdbook.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
site="${1:-$PWD/target/site}"
mdbook build --dest-dir "$site" .
python3 site/plain_text.py "$site"
