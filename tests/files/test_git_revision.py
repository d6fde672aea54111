"""Files as they were at a git revision: the documents that a checkout would give, or kind words."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from speccompile.files.git_revision import load_revision
from speccompile.files.load import load
from speccompile.files.read import MAX_FILE_BYTES, expand
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.source import Layer
from speccompile.schema.bundled import bundled_codes
from speccompile.yaml_text.parsed import Parsed

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", "2026-11-01T12:00:00Z"))
}


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration of this machine, and no repository around the tests."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in {**IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


def git(folder: Path, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, input=stdin)
    return done.stdout.strip()


def commit(folder: Path, files: Mapping[str, str | bytes]) -> str:
    """A commit with the files added; its id."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "a change")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    monkeypatch.chdir(folder)
    return folder


def read(revision: str, *paths: str | Path) -> list[Parsed]:
    return list(load_revision(revision, [Path(path) for path in paths], Layer.PROFILE))


def texts(parsed: list[Parsed]) -> dict[str, str]:
    assert [found for one in parsed for found in one.findings] == []
    return {document.source.name: document.source.text for one in parsed for document in one.documents}


def only_finding(parsed: list[Parsed]) -> Diagnostic:
    ((documents, (finding,)),) = parsed
    assert documents == ()
    assert finding.code in bundled_codes()
    assert finding.help
    assert finding.span
    return finding


# What stood there.


def test_files_are_as_they_were_and_not_as_they_are(repository: Path) -> None:
    first = commit(repository, {"profiles/a.yaml": "id: a\n", "profiles/b.yaml": "id: b\n"})
    (repository / "profiles/b.yaml").unlink()
    commit(repository, {"profiles/a.yaml": "id: changed\n"})
    (repository / "profiles/a.yaml").write_text("id: not committed\n")
    assert texts(read("HEAD~1", "profiles")) == {
        "HEAD~1:profiles/a.yaml": "id: a\n",
        "HEAD~1:profiles/b.yaml": "id: b\n",
    }
    assert texts(read("main", "profiles/a.yaml")) == {"main:profiles/a.yaml": "id: changed\n"}
    assert texts(read(first[:8], "profiles/b.yaml")) == {f"{first[:8]}:profiles/b.yaml": "id: b\n"}


def test_a_document_has_the_requested_layer(repository: Path) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    ((document,), _) = read("HEAD", "a.yaml")[0]
    assert document.source.layer is Layer.PROFILE


def test_a_tag_names_a_revision(repository: Path) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    git(repository, "tag", "--annotate", "v1", "--message", "the first")
    assert texts(read("v1", "a.yaml")) == {"v1:a.yaml": "id: a\n"}


def test_paths_count_from_here_and_names_from_the_root(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(repository, {"deep/er/a.yaml": "id: a\n", "deep/b.yaml": "id: b\n"})
    for here, path in (("deep/er", "a.yaml"), ("deep", "er"), ("deep/er", "../er/./a.yaml"), ("deep", "er/")):
        monkeypatch.chdir(repository / here)
        assert texts(read("HEAD", path)) == {"HEAD:deep/er/a.yaml": "id: a\n"}
    assert list(texts(read("HEAD", repository))) == ["HEAD:deep/b.yaml", "HEAD:deep/er/a.yaml"]
    assert list(texts(read("HEAD", "."))) == ["HEAD:deep/b.yaml", "HEAD:deep/er/a.yaml"]


def test_folders_that_are_gone_from_the_work_tree_are_found(repository: Path) -> None:
    commit(repository, {"gone/deep/a.yaml": "id: a\n", "b.yaml": "id: b\n"})
    git(repository, "rm", "-r", "--quiet", "gone")
    assert not (repository / "gone").exists()
    assert list(texts(read("HEAD", "gone"))) == ["HEAD:gone/deep/a.yaml"]
    assert list(texts(read("HEAD", "gone/deep/a.yaml"))) == ["HEAD:gone/deep/a.yaml"]


UNUSUAL_NAMES = (
    "-x.yaml",
    "a b.yaml",
    "ü.yaml",
    "line\nend.yaml",
    'quo"te.yaml',
    ":(glob)*.yaml",
    "tab\t.yaml",
    "*.yaml",
    "{a}.yml",
)


@pytest.mark.parametrize("name", UNUSUAL_NAMES, ids=ascii)
def test_unusual_file_names_are_read(repository: Path, name: str) -> None:
    commit(repository, {f"profiles/{name}": "id: a\n", "profiles/z/other.yaml": "id: b\n"})
    assert list(texts(read("HEAD", f"profiles/{name}"))) == [f"HEAD:profiles/{name}"]
    assert list(texts(read("HEAD", "profiles"))) == [f"HEAD:profiles/{name}", "HEAD:profiles/z/other.yaml"]


def test_a_name_that_is_not_utf_8(repository: Path) -> None:
    name = os.fsdecode(b"\xff.yaml")
    try:
        (repository / name).write_text("id: a\n")
    except OSError:
        pytest.skip("this file system has no such names")
    commit(repository, {})
    assert list(texts(read("HEAD", "."))) == [f"HEAD:{name}"]


def same_as_a_checkout(*paths: str) -> None:
    """Names and findings of a revision are those of the files in the work tree, which it was made from."""
    then = [(one.documents, one.findings) for one in read("HEAD", *paths)]
    now = [load(entry, Layer.PROFILE) for entry in expand(map(Path, paths))]
    revision_texts = [
        [(d.source.name.removeprefix("HEAD:"), d.source.text) for d in documents] for documents, _ in then
    ]
    assert revision_texts == [[(d.source.name, d.source.text) for d in one.documents] for one in now]
    codes = [[(found.code, found.message, found.help) for found in findings] for _, findings in then]
    assert codes == [[(found.code, found.message, found.help) for found in one.findings] for one in now]


def test_a_revision_reads_like_a_checkout(repository: Path) -> None:
    commit(
        repository,
        {
            "p/z.yaml": "id: z\n",
            "p/a/b.yml": "id: b\n",
            "p/a/b/c.json": '{"id": "c"}',
            "p/a.yaml": "id: a\n---\nid: a2\n",
            "p/a-b/d.yaml": "id: d\n",
            "p/README.md": "no profile",
            "p/speccompile.yaml": "runs: runs\n",
            "p/.hidden.yaml": "id: h\n",
            "p/.folder/x.yaml": "id: x\n",
            "p/empty.yaml": "",
            "p/broken.yaml": "id: [",
            "p/latin.yaml": b"id: caf\xe9\n",
            "p/large.yaml": "#" * (MAX_FILE_BYTES + 1),
            "p/largest.yaml": "id: x\n" + "#" * (MAX_FILE_BYTES - 6),
            "text/notes.txt": "id: notes\n",
            "twice.yaml": "id: z\n",
        },
    )
    same_as_a_checkout("p")
    same_as_a_checkout("text")
    same_as_a_checkout("text/notes.txt", "p/.hidden.yaml", "p/.folder", "twice.yaml", "twice.yaml")
    assert len(read("HEAD", "p")) == 10


def test_a_repository_without_links_or_files(repository: Path) -> None:
    commit(repository, {})
    assert only_finding(read("HEAD", ".")).code == "input/empty-directory"


# Links and submodules.


def test_links_inside_the_tree_are_followed(repository: Path) -> None:
    (repository / "links/deep").mkdir(parents=True)
    (repository / "links/deep/a.yaml").symlink_to("../../real/a.yaml")
    (repository / "links/chain.yaml").symlink_to("deep/a.yaml")
    (repository / "links/folder").symlink_to("../real")
    (repository / "links/folder.yaml").symlink_to("../real")
    (repository / "whole").symlink_to("real")
    (repository / "top").symlink_to("./links//..")
    commit(repository, {"real/a.yaml": "id: a\n"})
    same_as_a_checkout("links")
    same_as_a_checkout("links/deep/a.yaml", "links/chain.yaml")
    same_as_a_checkout("whole")
    same_as_a_checkout("whole/a.yaml")
    assert list(texts(read("HEAD", "links"))) == ["HEAD:links/chain.yaml", "HEAD:links/deep/a.yaml"]
    assert list(texts(read("HEAD", "top/real"))) == ["HEAD:top/real/a.yaml"]


def test_a_link_then_is_followed_though_it_is_a_folder_now(repository: Path) -> None:
    (repository / "profiles").symlink_to("real")
    commit(repository, {"real/a.yaml": "id: a\n"})
    (repository / "profiles").unlink()
    commit(repository, {"profiles/b.yaml": "id: b\n"})
    assert list(texts(read("HEAD~1", "profiles"))) == ["HEAD~1:profiles/a.yaml"]
    assert list(texts(read("HEAD", "profiles"))) == ["HEAD:profiles/b.yaml"]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nowhere.yaml", "the link points to `nowhere.yaml`, which is not in the revision"),
        ("../outside.yaml", "the link points outside the repository"),
        ("/etc/passwd", "the link points to `/etc/passwd`, outside the repository"),
        ("a.yaml", "the link passes through more than 40 links, and may be circular"),
    ],
)
def test_a_bad_link_is_reported(repository: Path, target: str, words: str) -> None:
    (repository / "outside.yaml").parent.joinpath("../outside.yaml").write_text("id: outside\n")
    (repository / "a.yaml").symlink_to(target)
    commit(repository, {"b.yaml": "id: b\n"})
    finding = only_finding(read("HEAD", "a.yaml"))
    assert (finding.code, finding.message) == ("revision/link", words)
    (listed, (documents, _)) = read("HEAD", ".")
    assert listed.findings == (finding,)
    assert len(documents) == 1


def test_a_link_to_a_folder_outside_is_reported(repository: Path, tmp_path: Path) -> None:
    """Though the folder is there now, it is not in the revision."""
    (tmp_path / "shared").mkdir()
    (repository / "profiles").symlink_to("../shared")
    commit(repository, {})
    assert only_finding(read("HEAD", "profiles")).code == "revision/link"


def test_a_submodule_is_reported(repository: Path) -> None:
    here = commit(repository, {"p/a.yaml": "id: a\n"})
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{here},p/sub")
    git(repository, "commit", "--quiet", "--message", "a submodule")
    for path in ("p/sub", "p/sub/b.yaml"):
        finding = only_finding(read("HEAD", path))
        assert (finding.code, finding.span and finding.span.source.name) == ("revision/submodule", f"HEAD:{path}")
        assert finding.message == "`p/sub` is a submodule, and its files are in another repository"
    assert [found.code for one in read("HEAD", "p") for found in one.findings] == ["revision/submodule"]


# What cannot be read.


@pytest.mark.parametrize(
    "revision",
    [
        "nope",
        "",
        "-x",
        "--all",
        "--end-of-options",
        "^HEAD",
        "HEAD..HEAD",
        "HEAD:a.yaml",
        "HEAD^{tree}",
        "a\0b",
        "a\nb",
    ],
)
def test_an_unknown_revision_is_reported(repository: Path, revision: str) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    finding = only_finding(read(revision, "a.yaml"))
    assert finding.code == "revision/unknown"


def test_the_message_for_an_unknown_revision(repository: Path) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    finding = only_finding(read("nope", "a.yaml"))
    assert finding.message == "no commit `nope` in the repository"
    assert (
        finding.help
        == "name a branch, a tag or a commit (in a shallow clone, fetch it first), or a directory that exists"
    )
    assert finding.span
    assert finding.span.label == "nope:a.yaml"


def test_a_repository_without_a_commit_has_no_revision(repository: Path) -> None:
    assert only_finding(read("HEAD", repository)).code == "revision/unknown"


def test_an_option_as_a_revision_does_nothing(repository: Path) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    read("--output=stolen.txt", ".")
    assert git(repository, "status", "--porcelain") == ""


def test_a_path_that_did_not_exist_is_reported(repository: Path) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    commit(repository, {"b.yaml": "id: b\n"})
    for path in ("b.yaml", "a.yaml/b.yaml", "none/b.yaml", "a", "nul\0.yaml"):
        finding = only_finding(read("HEAD~1", path))
        assert finding.code == "revision/missing-path"
        assert finding.message == "no such file or directory in `HEAD~1`"


def test_an_error_in_one_path_does_not_hide_another(repository: Path) -> None:
    commit(repository, {"a.yaml": "id: a\n", "c.yaml": "id: c\n"})
    codes = [[found.code for found in one.findings] for one in read("HEAD", "a.yaml", "b.yaml", "c.yaml")]
    assert codes == [[], ["revision/missing-path"], []]


def test_a_path_outside_any_repository_is_reported(repository: Path, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "a.yaml", repository / ".git", repository / ".git" / "HEAD"):
        assert only_finding(read("HEAD", path)).code == "revision/no-repository"


def test_missing_git_is_reported(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert only_finding(read("HEAD", "a.yaml")).code == "revision/no-git"


def test_a_damaged_repository_is_reported(repository: Path) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    blob = git(repository, "rev-parse", "HEAD:a.yaml")
    (repository / ".git/objects" / blob[:2] / blob[2:]).unlink()
    finding = only_finding(read("HEAD", "a.yaml"))
    assert (finding.code, finding.message) == (
        "revision/unreadable",
        f"git cannot read the repository: `object {blob} is missing`",
    )
    tree = git(repository, "rev-parse", "HEAD^{tree}")
    (repository / ".git/objects" / tree[:2] / tree[2:]).unlink()
    assert only_finding(read("HEAD", "a.yaml")).code == "revision/unreadable"


def test_a_repository_that_git_does_not_trust_is_reported(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    finding = only_finding(read("HEAD", "a.yaml"))
    assert finding.code == "revision/unreadable"
    assert "dubious ownership" in finding.message


# The outside does not matter.


def test_variables_of_a_hook_of_another_repository_are_ignored(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", "nothing")
    assert list(texts(read("HEAD", "a.yaml"))) == ["HEAD:a.yaml"]


def test_replaced_objects_are_ignored(repository: Path) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    blob = git(repository, "rev-parse", "HEAD:a.yaml")
    git(repository, "replace", blob, git(repository, "hash-object", "-w", "--stdin", stdin="id: replaced\n"))
    assert texts(read("HEAD", "a.yaml")) == {"HEAD:a.yaml": "id: a\n"}


def test_the_language_of_the_machine_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGUAGE", "de")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert only_finding(read("HEAD", tmp_path)).code == "revision/no-repository"


def test_a_link_from_outside_leads_into_the_repository(repository: Path, tmp_path: Path) -> None:
    commit(repository, {"p/deep/a.yaml": "id: a\n"})
    (tmp_path / "to-all").symlink_to(repository)
    (tmp_path / "to-part").symlink_to(repository / "p")
    for path in ("to-all/p/deep", "to-all/p/deep/a.yaml", "to-part/deep", "to-part/deep/a.yaml"):
        assert list(texts(read("HEAD", tmp_path / path))) == ["HEAD:p/deep/a.yaml"]


def test_a_second_work_tree_is_read(repository: Path, tmp_path: Path) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    git(repository, "worktree", "add", "--quiet", "--detach", str(tmp_path / "second"))
    assert list(texts(read("HEAD", tmp_path / "second"))) == ["HEAD:a.yaml"]


def test_what_a_partial_clone_left_out_is_not_fetched(repository: Path, tmp_path: Path) -> None:
    commit(repository, {"a.yaml": "id: a\n"})
    git(repository, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    source = f"file://{repository}"
    git(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", source, str(clone))
    assert only_finding(read("HEAD", clone / "a.yaml")).code == "revision/unreadable"


def test_every_code_of_revisions_is_tested_here() -> None:
    """The golden cases are folders without a repository, so these codes have their cases in this file."""
    text = Path(__file__).read_text(encoding="utf-8")
    assert [code for code in bundled_codes() if code.startswith("revision/") and f'"{code}"' not in text] == []
