#!/usr/bin/env bash
# Puts Azurite, the emulator of the Table service, into $TABLEGATE_AZURITE (~/.cache/tablegate-azurite), outside the
# checkout. What is there already is not installed again.
set -euo pipefail
version=3.35.0
place="${TABLEGATE_AZURITE:-$HOME/.cache/tablegate-azurite}"
mkdir -p "$place"
if [ "$(cat "$place/installed" 2>/dev/null)" = "$version" ]; then
    exit 0
fi
if ! command -v npm >/dev/null; then
    echo "install node and npm first (tests/clients/install.sh does)" >&2
    exit 1
fi
rm -f "$place/installed"
npm install --prefix "$place" --no-package-lock --no-audit --no-fund --silent "azurite@$version"
echo "$version" >"$place/installed"
