"""Save the manifests of one run: `Compiled.save`."""

from __future__ import annotations

from pathlib import Path

from speccompile.compiler.compiled import Compiled
from speccompile.files.replace_files import Output
from speccompile.files.write import is_file_name, manifest_path, write_file, write_files


def save(self: Compiled, path: Path | str) -> Path:
    """Write the manifests to a YAML file, or to the usual file in a directory, as `render -o` does; return the file.

    A path that does not end in `.yaml` or `.yml` is a directory. Raises OSError if the file cannot be written, or if it
    exists and speccompile did not write it.
    """
    target = Path(path)
    if not is_file_name(target):
        output = Output(manifest_path(self.project, self.name, "yaml"), self.to_yaml())
        write_files([output], target)
        return target / output.path
    if target.suffix == ".json":
        raise ValueError(f"{target} would contain YAML: name a .yaml file")
    write_file(Output(Path(target.name), self.to_yaml()), target.parent, ())
    return target
