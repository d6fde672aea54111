from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

from speccompile import compile_run

with TemporaryDirectory() as folder, chdir(folder):
    Path("run.yaml").write_text("# more and more notes\n" * 100_000)
    compiled = compile_run(Path("run.yaml"))
