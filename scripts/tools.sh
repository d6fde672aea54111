#!/usr/bin/env bash
# Fills .tools/ with the pinned files that tests need and no Python package holds, and sees to a browser for them.
# What is there already stays. What cannot be had is named; tests that need it are skipped, and fail in CI.
set -euo pipefail
cd "$(dirname "$0")/.."

sarif_package='@microsoft/jest-sarif@1.0.0-beta.0'
sarif_package_sha256=748e2c3d1a842e7bb258416685c7ea3a0da40005b72267b2052c2856d48ad102
sarif_member=package/lib/schemas/sarif-2.1.0-rtm.5.json
sarif_file=.tools/sarif-2.1.0.json
sarif_file_sha256=2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8

has() { command -v "$1" >/dev/null 2>&1; }

has_any() {
  local name
  for name in "$@"; do
    if has "$name"; then return 0; fi
  done
  return 1
}

is_intact() { # SHA256 FILE
  [[ -f $2 ]] && printf '%s  %s\n' "$1" "$2" | sha256sum --check --status
}

require_intact() { # SHA256 FILE
  is_intact "$1" "$2" || {
    printf 'tools: %s is not what was pinned\n' "${2##*/}" >&2
    exit 1
  }
}

fetch_sarif_schema() {
  if is_intact "$sarif_file_sha256" "$sarif_file"; then return; fi
  if ! has npm; then
    echo 'tools: install npm, which fetches the SARIF schema' >&2
    return
  fi
  temporary=$(mktemp -d)
  trap 'rm -rf "$temporary"' EXIT
  (cd "$temporary" && npm pack --silent "$sarif_package" >/dev/null)
  local packed=("$temporary"/*.tgz)
  require_intact "$sarif_package_sha256" "${packed[0]}"
  tar -xzOf "${packed[0]}" "$sarif_member" >"$temporary/schema.json"
  require_intact "$sarif_file_sha256" "$temporary/schema.json"
  mkdir -p .tools
  mv "$temporary/schema.json" "$sarif_file"
}

install_browser() {
  if has_any chromium chromium-browser google-chrome && has chromedriver; then return; fi
  if has apt-get && [[ $(id -u) == 0 ]]; then
    apt-get update --quiet
    DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends chromium chromium-driver
  else
    echo 'tools: install chromium (or google-chrome) and chromedriver' >&2
  fi
}

fetch_sarif_schema
install_browser
