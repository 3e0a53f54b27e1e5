"""tools/build-page and tools/embed-text: the build of the page, also where npm fails, and at a path with a blank."""

import os
import shutil
import subprocess

import pytest


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def clone(root, tmp_path):
    """A clone at a path with a blank: the tool and its sources."""
    folder = tmp_path / "my clone"
    (folder / "tools").mkdir(parents=True)
    shutil.copy(root / "tools" / "build-page", folder / "tools")
    shutil.copytree(root / "web", folder / "web", ignore=shutil.ignore_patterns("node_modules"))
    return folder


def build(clone, *args, tools=None):
    path = os.pathsep.join([str(tools)] * bool(tools) + [os.environ["PATH"]])
    return subprocess.run([clone / "tools" / "build-page", *args], env={**os.environ, "PATH": path}, cwd=clone, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, timeout=120)


@pytest.fixture
def no_registry(tmp_path):
    """A folder with an npm that reaches no registry."""
    script(tmp_path / "programs" / "npm", 'echo "npm error network" >&2\nexit 1')
    return tmp_path / "programs"


def test_without_a_registry_the_page_is_empty_if_that_is_allowed(clone, no_registry):
    done = build(clone, "page", "out dir.html", "out.d", "--or-empty", tools=no_registry)
    assert done.returncode == 0 and "built without its page" in done.stderr, done.stderr
    assert (clone / "out dir.html").read_bytes() == b""
    # It depends on a file that does not exist: the next build tries it again.
    assert (clone / "out.d").read_text() == "out\\ dir.html: out\\ dir.html.again\n"


def test_without_a_registry_the_build_fails_if_the_page_is_wanted(clone, no_registry):
    done = build(clone, "page", "page.html", "page.d", tools=no_registry)
    assert done.returncode != 0 and "npm error network" in done.stderr
    assert not (clone / "page.html").exists()


@pytest.mark.costly
def test_the_page_at_a_path_with_a_blank(clone, root):
    packages = root / "build" / "web" / "node_modules"
    if not packages.exists():
        pytest.skip("no npm: ./dev build did not get the packages of web/")
    cache = clone / "build" / "web"
    cache.mkdir(parents=True)
    (cache / "node_modules").symlink_to(packages)
    shutil.copy(clone / "web" / "package-lock.json", cache / "installed-lock.json")
    before = sorted(str(path) for path in (clone / "web").rglob("*"))
    done = build(clone, "page", "page.html", "page.d")
    assert done.returncode == 0, done.stderr
    page = (clone / "page.html").read_text(encoding="utf-8")
    assert page.count("<!--heapscope-data-->") == 1 and page.count("<title>heapscope</title>") == 1
    assert page.count("<script") == page.count("</script>") == 1 and page.count("<style>") == 1
    assert "src=" not in page.split("<script")[0] and "__SCRIPT_HASH__" not in page
    # Script before compression: the budget of the page.
    assert len(page) < 450_000
    listed = (clone / "page.d").read_text().replace("\\ ", "\0").replace("\\\n", " ").split()[1:]
    listed = [name.replace("\0", " ") for name in listed]
    assert str(clone / "web" / "src" / "main.tsx") in listed and str(clone / "web" / "src") in listed
    assert all(os.path.exists(name) for name in listed)
    assert sorted(str(path) for path in (clone / "web").rglob("*")) == before, "it wrote into the source folder"


TEXTS = ["", "plain\n", 'quotes " and \\ and \\n\n', "what??(x, y) ??= z ??/\n", "é … \t $1 %s\nlast\n"]


@pytest.mark.parametrize("text", TEXTS)
def test_embedded_text_is_the_file(root, tmp_path, text):
    (tmp_path / "file").write_text(text, encoding="utf-8")
    code = subprocess.run([root / "tools" / "embed-text", tmp_path / "file", "embedded"], stdout=subprocess.PIPE, text=True, check=True).stdout
    (tmp_path / "main.c").write_text(code + '#include <stdio.h>\nint main(void)\n{\n    fputs(embedded, stdout);\n}\n', encoding="utf-8")
    # In ISO mode gcc knows trigraphs, as in our build.
    subprocess.run(["gcc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-o", tmp_path / "main", tmp_path / "main.c"], check=True)
    assert subprocess.run([tmp_path / "main"], stdout=subprocess.PIPE, check=True).stdout.decode() == text
