#!/usr/bin/env bash
# Run golden and property tests on the supported Python versions that .venv does not use. Interpreters come from PATH or
# pyenv, and each gets a virtual environment (.venv-3.12, …). Golden tests also run on 3.14 and 3.15 as WebAssembly
# (Pyodide, in Node). Missing versions are listed; in CI, missing WebAssembly is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

versions=(3.11 3.12 3.13 3.14 3.15)
golden=(tests/test_golden.py tests/model/test_light_namedtuple.py)
properties=(tests/properties tests/model/test_quantity.py tests/yaml_text)
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
failed=()

version_of() { # PYTHON
  "$1" -c 'import ensurepip, sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
}

# Print the path of an interpreter that can create virtual environments; a pyenv shim may exist but not run.
find_python() { # VERSION
  local pyenv=${PYENV_ROOT:-$(pyenv root 2>/dev/null || echo "$HOME/.pyenv")} candidate
  while read -r candidate; do
    if [[ $(version_of "$candidate") == "$1" ]]; then
      echo "$candidate"
      return
    fi
  done < <(
    type -ap "python$1"
    printf '%s\n' "$pyenv/versions/$1"*/bin/python | sort --version-sort --reverse
  )
  return 1
}

prepare() { # VERSION PYTHON
  local folder=.venv-$1
  if [[ $folder/.installed -nt pyproject.toml ]]; then return; fi
  "$2" -m venv --clear "$folder"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[testing,verify]' pytest-xdist
  touch "$folder/.installed"
}

test_natively() { # VERSION
  local python
  if ! python=$(find_python "$1"); then
    echo "pythons: $1 is missing: install it, for example with pyenv"
    return
  fi
  echo "pythons: $1: golden and property tests on $python"
  prepare "$1" "$python"
  HYPOTHESIS_PROFILE=brief "$PWD/.venv-$1/bin/python" -m pytest --quiet -n auto "${golden[@]}" "${properties[@]}" ||
    failed+=("$1")
}

test_as_webassembly() { # VERSION
  local archive=.tools/pyodide-$1.tgz folder=$temporary/$1
  if ! command -v node >/dev/null || [[ ! -f $archive ]]; then
    echo "pythons: $1 as WebAssembly is missing: install Node.js and run scripts/tools.sh"
    if [[ ${CI:-} == true ]]; then failed+=("$1 as WebAssembly"); fi
    return
  fi
  echo "pythons: $1: golden tests on WebAssembly"
  mkdir "$folder"
  tar -xzf "$archive" -C "$folder"
  node tests/pyodide/run_pytest.mjs "$folder/package" . "$site_packages" --quiet "${golden[@]}" ||
    failed+=("$1 as WebAssembly")
}

here=$(version_of .venv/bin/python)
site_packages=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "pythons: $here: all tests run with make test"
for version in "${versions[@]}"; do
  if [[ $version != "$here" ]]; then test_natively "$version"; fi
done
for version in 3.14 3.15; do
  test_as_webassembly "$version"
done
if [[ ${#failed[@]} -gt 0 ]]; then
  printf 'pythons: failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
