"""tools/tidy and .clang-tidy: what they find, and that no file is checked twice for nothing."""

import json
import os
import shutil
import subprocess

import pytest
from test_lint import write

# One function for each kind of mistake that the static analyzer searches for in C.
MISTAKES = {
    "core.CallAndMessage": "int f(void) { int (*g)(void) = NULL; return g(); }",
    "core.DivideZero": "int f(int a) { int b = 0; return a / b; }",
    "core.NonNullParamChecker": "size_t f(void) { const char *s = NULL; return strlen(s); }",
    "core.NullDereference": "int f(int *p) { if (p) { return 0; } return *p; }",
    "core.StackAddressEscape": "int *f(void) { static int *kept; int a = 1; kept = &a; return kept; }",
    "core.UndefinedBinaryOperatorResult": "int f(int a) { int b; if (a) { b = 1; } return a + b; }",
    "core.VLASize": "int f(void) { int n = 0; int a[n]; a[0] = 1; return a[0]; }",
    "core.uninitialized.ArraySubscript": "int f(const int *p) { int i; return p[i]; }",
    "core.uninitialized.Assign": "int f(void) { int a; int b = a; return b; }",
    "core.uninitialized.Branch": "int f(void) { int a; if (a) { return 1; } return 0; }",
    "core.uninitialized.UndefReturn": "int f(int a) { int b; if (a) { b = 1; } return b; }",
    "deadcode.DeadStores": "int f(int a) { int b = a; b = 2; return a; }",
    "optin.portability.UnixAPI": "void *f(void) { return malloc(0); }",
    "security.FloatLoopCounter": "void f(void) { for (float x = 0; x < 1; x += 0.25F) { abort(); } }",
    "security.insecureAPI.strcpy": "void f(char *a, const char *b) { strcpy(a, b); }",
    "unix.API": "void f(void (*g)(void)) { pthread_once_t once = 0; pthread_once(&once, g); }",
    "unix.Malloc": "void f(void) { char *p = malloc(1); free(p); free(p); }",
    "unix.MallocSizeof": "long *f(void) { long *p = malloc(sizeof(char)); return p; }",
    "unix.Vfork": "int f(void) { int a = 0; if (vfork() == 0) { a = 1; _exit(0); } return a; }",
    "unix.cstring.BadSizeArg": "void f(const char *b) { char a[9] = \"\"; strncat(a, b, sizeof(a)); puts(a); }",
    "valist.Unterminated": "void f(int n, ...) { va_list a; va_start(a, n); }",
    "valist.Uninitialized": "void f(const char *p) { va_list a; vprintf(p, a); }",
}
INCLUDES = "".join(f"#include <{name}.h>\n" for name in ("pthread", "stdarg", "stdio", "stdlib", "string", "unistd"))


@pytest.fixture
def tree(root, tmp_path):
    """A tree with our settings and our tidy, and a clang-tidy that notes how often it is asked."""
    shutil.copy(root / ".clang-tidy", tmp_path)
    (tmp_path / "tools").mkdir()
    shutil.copy(root / "tools" / "tidy", tmp_path / "tools")
    write(tmp_path / "bin/clang-tidy-14",
          f'#!/bin/sh\necho "$@" >>"{tmp_path}/asked"\nexec {shutil.which("clang-tidy-14")} "$@"\n')
    (tmp_path / "bin/clang-tidy-14").chmod(0o755)
    return tmp_path


@pytest.fixture
def tidy(tree):
    """tidy([PATH, FLAGS...], ...): runs it on a build folder with these commands. The exit status, the output, and how
    many times clang-tidy read a file."""

    def call(*commands):
        entries = [{"directory": str(tree / "build/debug"), "file": f"../../{path}", "output": f"{i}.o",
                    "command": " ".join(["gcc", "-I../../src", *flags, "-MD", "-MF", f"{i}.d", "-o", f"{i}.o", "-c",
                                         f"../../{path}"])}
                   for i, (path, *flags) in enumerate(commands)]
        write(tree / "build/debug/compile_commands.json", json.dumps(entries))
        (tree / "asked").write_text("")
        done = subprocess.run([tree / "tools/tidy", "build/debug", "2"], cwd=tree, capture_output=True, text=True,
                              check=False, env={**os.environ, "PATH": f"{tree}/bin:{os.environ['PATH']}"})
        asked = [line.split(" -- ")[0].count(".c") for line in (tree / "asked").read_text().splitlines()]
        return done.returncode, done.stdout + done.stderr, sum(asked)

    return call


def test_each_mistake_is_found(tree, tidy):
    for name, text in MISTAKES.items():
        write(tree / f"src/{name}.c", f"{INCLUDES}{text}\n")
    status, said, _ = tidy(*([f"src/{name}.c"] for name in MISTAKES))
    assert status == 1
    missing = [name for name in MISTAKES
               if not any(f"/{name}.c:" in line and f"[clang-analyzer-{name}," in line for line in said.splitlines())]
    assert missing == [], said


def test_a_mistake_in_a_header_is_found(tree, tidy):
    write(tree / "src/rt/thing.h", "static inline int hs_thing(int a)\n{\n    if (a)\n        return 1;\n    return 2;\n}\n")
    write(tree / "src/thing.c", '#include "rt/thing.h"\nint f(void)\n{\n    return hs_thing(1);\n}\n')
    status, said, _ = tidy(["src/thing.c"])
    assert status == 1 and "thing.h:3" in said and "readability-braces" in said


@pytest.mark.costly
def test_only_what_changed_is_checked_again(tree, tidy):
    write(tree / "src/rt/thing.h", "int f(int a);\n")
    write(tree / "src/good.c", '#include "rt/thing.h"\nint f(int a)\n{\n    return a;\n}\n')
    write(tree / "src/bad.c", "int g(int a)\n{\n    if (a)\n        return 1;\n    return 2;\n}\n")
    both = ["src/good.c"], ["src/bad.c"]
    assert tidy(*both)[::2] == (1, 4)  # both together, which has findings, so each by itself
    assert tidy(*both)[::2] == (1, 1)  # the bad one
    write(tree / "src/bad.c", "int g(int a)\n{\n    return a;\n}\n")
    assert tidy(*both)[::2] == (0, 1)
    assert tidy(*both)[::2] == (0, 0)
    write(tree / "src/rt/thing.h", "int f(int b);\n")
    assert tidy(*both)[::2] == (0, 1)


@pytest.mark.costly
def test_commands_for_the_same_text_are_one(tree, tidy):
    text = "int f(int a)\n{\n    return a;\n}\n#ifdef MORE\nint g(int a)\n{\n    if (a)\n        return 1;\n    return 2;\n}\n#endif\n"
    write(tree / "src/thing.c", text)
    assert tidy(["src/thing.c"], ["src/thing.c", "-fexceptions", "-O2"])[::2] == (0, 1)
    status, said, asked = tidy(["src/thing.c"], ["src/thing.c", "-O2"], ["src/thing.c", "-DMORE"])
    assert status == 1 and "thing.c:8" in said and asked == 1
