// Run pytest on the Python of an unpacked `pyodide` package:
//     node run_pytest.mjs PYODIDE PROJECT SITE_PACKAGES [PYTEST_ARGUMENT…]
// Packages come from SITE_PACKAGES of any Python; compiled modules in it are not found and need a stand-in here.
import { dirname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [pyodide, project, sitePackages, ...pytestArguments] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(pyodide, "pyodide.mjs")));
const python = await loadPyodide({
  env: { HOME: "/home/pyodide", PYTHONDONTWRITEBYTECODE: "1", PYTEST_DISABLE_PLUGIN_AUTOLOAD: "1" },
});

const mounts = { "/stand-ins": dirname(fileURLToPath(import.meta.url)), "/project": project, "/site-packages": sitePackages };
for (const [point, folder] of Object.entries(mounts)) {
  python.FS.mkdirTree(point);
  python.mountNodeFS(point, resolve(folder));
}
// A golden case reads this device, which Emscripten does not have.
python.FS.createDevice("/dev", "zero", () => 0);

python.globals.set("pytest_arguments", python.toPy(pytestArguments));
process.exitCode = python.runPython(`
import os
import sys

sys.path[:0] = ["/stand-ins", "/project"]
sys.path.append("/site-packages")
os.chdir("/project")

import pytest

int(pytest.main(["--noconftest", "-p", "pytest_pyodide", "-p", "no:cacheprovider", *pytest_arguments]))
`);
