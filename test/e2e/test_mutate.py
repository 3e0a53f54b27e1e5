"""./dev mutate on a small project: what its test checks is killed, what it does not check survives, and its sources stay."""

import re
import shutil
import subprocess

import pytest

MESON = """
project('small', 'c')
add_project_arguments('-O0', language: 'c')
lib = static_library('small', 'src/small.c', 'src/lone.c')
test('test_small', executable('test_small', 'test.c', link_with: lib), suite: 'unit')
test('test_broken', executable('test_broken', 'broken.c', link_with: lib), suite: 'unit')
"""

SMALL = """/* if (x < 1) { "a && b" } */
int checked(int a, int b);
int unchecked(int a, int b);
void set(int *to);

int checked(int a, int b)
{
    return a < b;
}

int unchecked(int a, int b)
{
    return a && b;
}

void set(int *to)
{
    *to = 7;
}
"""

TEST = """
#include <signal.h>
#include <unistd.h>

int checked(int a, int b);
int unchecked(int a, int b);
void set(int *to);

int main(void)
{
    int x = 0;
    set(&x);
    if (x != 7) {
        kill(getppid(), SIGKILL); /* as changed code may do; there is no process behind it in its namespace */
        for (;;) {
            pause();
        }
    }
    return !(checked(1, 2) && !checked(2, 2) && !checked(3, 2) && unchecked(1, 1));
}
"""


@pytest.mark.costly
def test_mutants(root, tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "tools").mkdir()
    shutil.copy(root / "tools" / "mutate", tmp_path / "tools" / "mutate")
    files = {
        "meson.build": MESON, "meson_options.txt": "option('tests', type: 'feature')\n", "src/small.c": SMALL,
        "src/lone.c": "int lone(void);\n\nint lone(void)\n{\n    return 1;\n}\n", "test.c": TEST,
        "broken.c": "int main(void) { return 1; }\n", ".gitignore": "/build/\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    done = subprocess.run(
        [tmp_path / "tools" / "mutate", "--minutes", "5", "--seed", "3", "src"], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert "mutate: test_broken fails unchanged, and is left out" in lines
    assert "mutate: no test contains src/lone.c" in lines
    survivors = sorted(line for line in lines if line.startswith("src/"))
    assert survivors == ["src/small.c:13: return a && b;  ->  return a || b;"]
    assert (tmp_path / "build/mutate/survivors.txt").read_text(encoding="utf-8").splitlines() == survivors
    summary = re.fullmatch(r"mutate: seed 3: (\d+) mutants, (\d+) killed, 1 survived \(score \d+ %\); 0 did not compile; .*", lines[-1])
    assert summary, lines[-1]
    # checked: 0 at once, <=, 0; unchecked: 0 at once, ||, 0; set: return at once, 8, 6, no statement
    assert (int(summary[1]), int(summary[2])) == (10, 9)
    for name, text in files.items():
        assert (tmp_path / name).read_text(encoding="utf-8") == text
