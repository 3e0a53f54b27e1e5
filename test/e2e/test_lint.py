"""The checks behind ./dev lint: each passes on a small good tree, and fails when its rule is broken.

A check that cannot fail is worth nothing, so every rule has its breach here.
"""

import re
import shutil
import subprocess

import pytest

GOOD_C = """/*
 * A thing that does what this sentence says it does.
 */
#include "rt/thing.h"

#include "rt/atomic.h"

static void publish(int *p)
{
    /* ORDER thing-ready: the rest of the thing. */
    hs_store_release(p, 1);
}

int hs_thing_get(int *p)
{
    publish(p);
    /* ORDER thing-ready: what publish() wrote. */
    return hs_load_acquire(p);
}
"""

GOOD_H = """/*
 * A thing, as others see it, in a sentence of its own.
 */
#pragma once

int hs_thing_get(int *p);
"""

GOOD_TS = """/*
 * A thing of the page, in a sentence of its own.
 */
export const thing = 1;
"""

ATOMIC_H = """/*
 * Orders have their names here.
 */
#pragma once

#define hs_load_acquire(ptr) __atomic_load_n((ptr), __ATOMIC_ACQUIRE)
#define hs_store_release(ptr, value) __atomic_store_n((ptr), (value), __ATOMIC_RELEASE)
#define hs_fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)
"""

ROWS = """| tag | writer | reader | data |
|---|---|---|---|
| thing-ready | thing.c | thing.c | the thing |
"""


TOUR = """# Tour

| folder | content | subfolders |
|---|---|---|
| `src/rt` | things | |
"""

# What else check-docs looks at, without findings.
DOCS = {
    "docs/TOUR.md": TOUR + "| `src/wide` | more | `one` |\n",
    "docs/PAGE.md": "# A page\n\n## Two words\n\n[here](PAGE.md#two-words) [code](../src/rt) `rt/thing.h` `hs_thing_get` `hs_thing_*`\n",
    "docs/man/heapscope-run.1": ".Sh NAME\n.Sh FILES\n.Sx FILES .\n.Xr heapscope-run 1 ,\nsection\n.Sx NAME\n.Xr proc 5\n",
    "src/wide/README.md": "`work`, `one/more.h`; `thing`, `publish`. It may include `rt` (`tools/layers.txt`).\n",
    "src/wide/work.c": GOOD_C + "/* See rt/thing.h, publish() and kernel/thing.c; see publish(). */\nchar *s = \"rt/lost.h\";\n",
    "src/wide/one/more.h": GOOD_H,
    "test/unit/test_thing.c": GOOD_C,
    "test/unit/test_others.c": "/* work.c and more.h together. */\n",
    "test/e2e/test_a.py": '# As thing.h has it.\nlost = "lost.h"\n',
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture
def tree(tmp_path):
    """A tree without findings."""
    write(tmp_path / "src/rt/thing.c", GOOD_C)
    write(tmp_path / "src/rt/thing.h", GOOD_H)
    write(tmp_path / "src/rt/atomic.h", ATOMIC_H)
    write(tmp_path / "tools/layers.txt", "rt\nutil rt\nwide rt\nwide/one wide rt\n")
    write(tmp_path / "docs/CONCURRENCY.md", ROWS)
    write(tmp_path / "docs/TOUR.md", TOUR)
    write(tmp_path / "dev", "#!/bin/sh\n")
    write(tmp_path / "web/src/thing.ts", GOOD_TS)
    write(tmp_path / "web/node_modules/other/bad.ts", "let x;\n" * 900)
    return tmp_path


@pytest.fixture
def check(root, tree):
    """check("layers") -> exit status and output, on that tree or on other arguments."""

    def call(name, *args):
        done = subprocess.run(
            [root / "tools" / f"check-{name}", *(args or [tree])],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )
        return done.returncode, done.stdout

    return call


@pytest.mark.parametrize("name", ["layers", "circles", "order", "size", "files", "words"])
def test_good_tree_passes(check, name):
    assert check(name) == (0, "")


@pytest.mark.costly(cases=16)
@pytest.mark.parametrize(
    ("name", "path", "text", "words"),
    [
        ("layers", "src/rt/bad.c", '#include "util/buf.h"\n', "rt may not include util/buf.h"),
        ("layers", "src/rt/bad.c", '#  include   "util/buf.h"\n', "bad.c:1"),
        ("layers", "src/rt/bad.c", '#include "thing.h"\n', "not a path from src/"),
        ("layers", "src/rt/bad.c", '#include "../util/buf.h"\n', "not a path from src/"),
        ("layers", "src/rt/bad.c", '#include "rt/deep/x.h"\n', "rt may not include rt/deep/x.h"),
        ("layers", "src/util/deep/bad.c", '#include "rt/thing.h"\n', "util/deep is not in tools/layers.txt"),
        ("layers", "src/wide/one/bad.c", '#include "util/buf.h"\n', "wide/one may not include util/buf.h"),
        ("layers", "src/wide/bad.c", '#include "wide/one/x.h"\n', "wide may not include wide/one/x.h"),
        ("layers", "src/new/bad.c", '#include "rt/thing.h"\n', "new is not in tools/layers.txt"),
        ("order", "src/rt/bad.c", "int x = hs_load_acquire(p);\n", "bad.c:1: an order other"),
        ("order", "src/rt/bad.c", "__atomic_load_n(p, __ATOMIC_ACQUIRE);\n", "bad.c:1"),
        ("order", "src/rt/bad.c", "#include <stdatomic.h>\n", "bad.c:1"),
        ("order", "src/rt/bad.c", "/* ORDER lone: nothing */\n", "ORDER lone: only one end"),
        ("order", "src/rt/bad.c", "/* ORDER lone: nothing */\n", "ORDER lone: no row"),
        ("order", "docs/CONCURRENCY.md", ROWS + "| gone | a | b | c |\n", "gone is in no file"),
        ("order", "src/rt/bad.c", "/* ORDER thing-ready: far */" + "\n" * 7 + "hs_fence_seq_cst();\n",
         "bad.c:8: an order other"),
        ("size", "src/rt/bad.c", "\n" * 501, "src/rt/bad.c: more than 500 lines"),
        ("size", "tools/bad", "\n" * 501, "tools/bad: more than 500 lines"),
        ("size", "src/rt/bad.h", "/* " + "é" * 94 + " */\n/* " + "e" * 95 + " */\n", "src/rt/bad.h:2: more than 100 characters"),
        ("size", "test/unit/bad.c", "\n" * 801, "test/unit/bad.c: more than 800 lines"),
        ("size", "web/src/bad.ts", "/* " + "e" * 98 + " */\n", "web/src/bad.ts:1: more than 100 characters"),
        ("size", "web/src/bad.tsx", "\n" * 501, "web/src/bad.tsx: more than 500 lines"),
        ("files", "web/src/bad.ts", "let x;\n", "bad.ts: does not open with a comment"),
        ("files", "web/src/view/bad.css", "a { color: red }\n", "bad.css: does not open with a comment"),
        ("files", "test/browser/bad.mjs", "/* x */\nlet x;\n", "bad.mjs: does not open with a comment"),
        ("files", "web/src/deep/thing.ts", GOOD_TS, "thing.ts: two files of this name in web/src"),
        ("words", "web/src/bad.ts", "/* It is le" + "d to us. */\n", "redirected to our hooks"),
        ("files", "src/rt/bad.c", "int x;\n", "bad.c: does not open with a comment"),
        ("files", "src/rt/bad.c", "/* x.c */\nint x;\n", "bad.c: does not open with a comment"),
        ("files", "src/rt/bad.c", "/*\n * A thing with a rule.\n *\n * Holds     x < y.\n */\nint x;\n", "bad.c: states something under Holds"),
        ("files", "src/rt/bad.c", GOOD_C + '#include "rt/b.h"\n#include "rt/a.h"\n', "bad.c:21: includes are not sorted"),
        ("files", "src/rt/bad.h", "/* A good sentence about it. */\n", "bad.h: no #pragma once"),
        ("files", "src/util/thing.h", GOOD_H, "thing.h: two files of this name"),
        ("files", "src/rt/bad.c", GOOD_C + "// later\n", "bad.c:20:// later"),
        ("files", "src/rt/bad.c", GOOD_C + '#include "rt/thing.c"\n', 'bad.c:20:#include "rt/thing.c"'),
    ],
)
def test_breach_is_found(check, tree, name, path, text, words):
    write(tree / path, text)
    status, said = check(name)
    assert status != 0
    assert words in said


@pytest.fixture
def documented(tree):
    for path, text in DOCS.items():
        write(tree / path, text)
    return tree


def test_good_documentation_passes(check, documented):
    assert check("docs") == (0, "")


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        ("docs/PAGE.md", "[x](GONE.md)\n", "docs/PAGE.md:1: GONE.md: there is no docs/GONE.md"),
        ("docs/PAGE.md", "\n[x](TOUR.md#tours)\n", "docs/PAGE.md:2: TOUR.md#tours: there is no such heading"),
        ("docs/PAGE.md", "`gone.h`\n", "gone.h is not in the tree"),
        ("docs/PAGE.md", "`wide/thing.h`\n", "wide/thing.h is not in the tree"),
        ("docs/PAGE.md", "`src/rt/gone`\n", "src/rt/gone is not in the tree"),
        ("docs/PAGE.md", "`src/rt/gone*.h`\n", "src/rt/gone*.h is not in the tree"),
        ("docs/PAGE.md", "`hs_gone`\n", "hs_gone is not in the code"),
        ("docs/PAGE.md", "`HS_GONE`\n", "HS_GONE is not in the code"),
        ("docs/PAGE.md", "`hs_gone_*`\n", "hs_gone_* is not in the code"),
        ("src/wide/bad.c", "\n/* A sentence about gone.h. */\n", "src/wide/bad.c:2: gone.h is not in the tree"),
        ("src/wide/bad.c", "/*\n * See\n * gone_now. */\n", "see gone_now: not in the code"),
        ("src/wide/bad.c", "/* see gone() */\n", "see gone(): not in the code"),
        ("src/wide/bad.c", "/* What hs_gone() did. */\n", "hs_gone is not in the code"),
        ("test/e2e/test_a.py", "# See gone.h.\n", "gone.h is not in the tree"),
        ("dev", "#!/bin/sh\n# See tools/gone.\n", "tools/gone is not in the tree"),
        ("docs/man/heapscope-run.1", ".Xr heapscope-gone 1\n", "there is no page heapscope-gone(1)"),
        ("docs/man/heapscope-run.1", ".Sh NAME\n.Sx GONE\n", 'there is no section "GONE" in docs/man/heapscope-run.1'),
        ("docs/TOUR.md", TOUR, "docs/TOUR.md:1: has no row for src/wide"),
        ("docs/TOUR.md", TOUR + "| `src/wide` | more | |\n", "docs/TOUR.md:1: has no row for src/wide/one"),
        ("src/wide/README.md", "`work`, `one`\n", "does not name src/wide/one/more.h"),
        ("src/wide/README.md", "`work`, `more`\n", "does not name src/wide/one"),
        ("src/wide/README.md", "`work`, `one/more`, `gone`\n", "gone is no file, and not in the code"),
        ("src/wide/README.md", "`work`, `one/more`. May include `rt` and `util`.\n", "it may include not util"),
        ("src/wide/README.md", "`work`, `one/more`.\n", "does not say which folders it may include (by tools/layers.txt, rt)"),
        ("src/wide/README.md", "`work`, `one/more`. May include `rt`.\n\n| x | files |\n|---|---|\n| `thing` | `more`, `thing` |\n",
         "src/wide/README.md:5: thing is a file of another folder"),
        ("tools/layers.txt", "rt\nutil rt\nwide rt util\nwide/one wide\n", "it may include util"),
        ("tools/layers.txt", "rt\nutil rt\nwide rt/deep\nwide/one wide\n", "it may include not rt, rt/deep"),
        ("test/unit/test_both.c", "/* Two files together. */\n", "does not name a file that it tests"),
    ],
)
def test_wrong_documentation_is_found(check, documented, path, text, words):
    write(documented / path, text)
    status, said = check("docs")
    assert status == 1
    assert words in said


def test_a_folder_stands_for_its_subfolders(check, tree):
    write(tree / "src/wide/one/more.c", GOOD_C + '#include "wide/x.h"\n#include "wide/two/x.h"\n#include "wide/one/x.h"\n')
    assert check("layers") == (0, "")


@pytest.fixture
def limit(root):
    """How many modules may include each other in a circle."""
    return int(re.search(r"^LIMIT = (\d+)$", (root / "tools/check-circles").read_text(encoding="utf-8"), re.MULTILINE)[1])


def in_a_circle(tree, count):
    """Writes modules of which each includes the next one, and the last one the first: in turns in its source and in its header."""
    for i in range(count):
        write(tree / f"src/rt/part{i}.h", GOOD_H)
        write(tree / f"src/rt/part{i}.{'ch'[i % 2]}", GOOD_H + f'#  include "rt/part{(i + 1) % count}.h"\n')


def test_a_circle_of_modules_is_found(check, tree, limit):
    count = limit + 1
    in_a_circle(tree, count)
    write(tree / "src/rt/user.c", GOOD_C + '#include "rt/part0.h"\n')
    status, said = check("circles")
    assert status == 1
    assert said.splitlines() == [f"src: {count} modules include each other in a circle; at most {limit} may:"] + [
        f"  rt/part{i} -> rt/part{(i + 1) % count}" for i in range(count)
    ]


def test_a_small_circle_is_no_finding(check, tree, limit):
    in_a_circle(tree, limit)
    assert check("circles") == (0, "")


def test_the_processor_is_no_part_of_a_module(check, tree, limit):
    for i in range(limit + 1):
        write(tree / f"src/arch/x86_64/arch/a{i}.h", GOOD_H + f'#include "arch/a{(i + 1) % (limit + 1)}.h"\n')
    status, said = check("circles")
    assert status == 1
    assert "  arch/a0 -> arch/a1" in said


@pytest.mark.parametrize("text", ["import time\n\ntime.sleep(1)\n", "from time import sleep\n\nsleep(1)\n",
                                  "import subprocess\n\nsubprocess.run(['sleep', '1'])\n"])
def test_sleeps_are_refused(check, tree, text):
    write(tree / "test/e2e/test_thing.py", text)
    write(tree / "test/e2e/waiting.py", text)
    status, said = check("sleeps")
    assert status != 0 and "test/e2e/test_thing.py:" in said and "e2e/waiting.py:" not in said


def test_sleeps_of_programs_are_text(check, tree):
    write(tree / "test/e2e/test_thing.py", "PROGRAM = 'import time; time.sleep(1)'\n")
    assert check("sleeps") == (0, "")


def test_other_names_are_no_orders(check, tree):
    write(tree / "src/rt/more.c", "void hs_batch_release(int *p)\n{\n    hs_load_acquirex(p);\n}\n")
    assert check("order") == (0, "")


def test_processors_share_names(check, tree):
    for processor in ("x86_64", "aarch64"):
        write(tree / f"src/arch/{processor}/regs.h", GOOD_H)
    assert check("files") == (0, "")


# One for each row of tools/words.txt; cut by ~, because that check reads this file, too.
PHRASES = [
    "Who~ever", "some~body else's", "no~body answers", "no~body's", "h~im", "th~ose who", "is to~ld so", "hu~ng up on", "goes b~y",
    "let go o~f", "led to u~s", "for pe~ople", "such a~s run", "for e~ver", "refused in wor~ds", "what is to b~e", "came to no~thing",
    "and its li~ke", "war~dens",
]


@pytest.mark.parametrize("phrase", [phrase.replace("~", "") for phrase in PHRASES])
def test_phrase_is_refused(check, root, tree, phrase):
    rows = [line for line in (root / "tools/words.txt").read_text(encoding="utf-8").splitlines() if "\t" in line]
    assert len(rows) == len(PHRASES)
    write(tree / "test/bad.py", f'"""A test."""\nprint("A page: {phrase}, it said.")\n')
    status, said = check("words")
    assert status == 1
    remedies = [line for line in said.splitlines() if line.startswith(f'test/bad.py:2: "{phrase}": ')]
    assert len(remedies) == len(said.splitlines()) == 1
    assert remedies[0].partition(f'"{phrase}": ')[2] in [row.partition("\t")[2] for row in rows]


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("src/rt/bad.c", "/*\n * It is led to\n * us.\n */\n", 2),
        ("src/rt/bad.c", 'puts("It is led to "\n     "us.");\n', 1),
        ("docs/man/bad.1", '.\\" It is led to\n.\\" us.\n', 1),
        ("docs/adr/0001-bad.md", "x\n\nIt is led\nto us.\n", 3),
        ("dev", "#!/bin/sh\n# It is led\n# to us.\n", 2),
    ],
)
def test_phrase_over_two_lines(check, tree, path, text, line):
    write(tree / path, text.replace("us", "u" + "s"))
    assert check("words") == (1, f'{path}:{line}: "led to ' + 'us": "redirected to our hooks"\n')


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/rt/more.c", "/* The client, the theme, it goes bypassed. */\nint whoever_else, is_told_so;\n"),
        ("src/rt/more.c", "/* It is led to */\n\n/* u" + "s. */\n"),
        ("fuzz/corpus/fuzz_x/seed", "who" + "ever\n"),
    ],
)
def test_other_words_pass(check, tree, path, text):
    write(tree / path, text)
    assert check("words") == (0, "")


@pytest.fixture
def client(tmp_path):
    """client(SOURCE, *FLAGS): a library built from it, and a list of its allowed exports."""

    def call(source, *flags, listed=("malloc", "hs_nested_hook")):
        write(tmp_path / "c.c", source)
        script = "{ global: /* the list */ " + " ".join(f"{n};" for n in listed) + " local: *; };"
        write(tmp_path / "client.map", script)
        lib = tmp_path / "libc.so"
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-O1", "-fno-builtin", "-Wl,-z,now", "-o", lib,
             tmp_path / "c.c", *flags],
            check=True,
        )
        return lib, tmp_path / "client.map"

    return call


HOOK = """
#include <stddef.h>
static __thread int depth __attribute__((tls_model("initial-exec")));
static void *(*next)(size_t);
__attribute__((visibility("default"))) void *malloc(size_t n) { depth++; return next(n); }
__attribute__((visibility("default"))) int hs_nested_hook(void) { return depth; }
"""


def test_good_client_passes(check, client):
    lib, listed = client(HOOK, "-Wl,--version-script=" + str(client(HOOK)[1]))
    assert check("exports", lib, listed) == (0, "")


@pytest.mark.costly(cases=2)
@pytest.mark.parametrize(
    ("source", "flags", "listed", "words"),
    [
        (HOOK, ["-Wl,--no-as-needed", "-lm"], ("malloc", "hs_nested_hook"), "needs libm.so.6"),
        (HOOK.replace("initial-exec", "global-dynamic"), [], ("malloc", "hs_nested_hook"), "dynamic-TLS"),
        (HOOK.replace("initial-exec", "global-dynamic"), ["-mtls-dialect=gnu2"],
         ("malloc", "hs_nested_hook"), "dynamic-TLS"),
        (HOOK, [], ("malloc",), "exports hs_nested_hook, which"),
        (HOOK, [], ("malloc", "hs_nested_hook", "calloc"), "does not export calloc, which"),
        (HOOK + "void free(void *p); void hs_x(void *p) { free(p); }", [],
         ("malloc", "hs_nested_hook", "hs_x"), "calls free"),
        (HOOK + "void *__libc_malloc(size_t); void *hs_x(void) { return __libc_malloc(1); }", [],
         ("malloc", "hs_nested_hook", "hs_x"), "calls __libc_malloc"),
        (HOOK, ["-Wl,-z,lazy"], ("malloc", "hs_nested_hook"), "not linked with -z now"),
    ],
)
def test_bad_client_is_found(check, client, source, flags, listed, words):
    lib, script = client(source, *flags, listed=listed)
    status, said = check("exports", lib, script)
    assert status != 0
    assert words in said


def test_missing_client_is_found(check, tmp_path):
    status, said = check("exports", tmp_path / "none.so", tmp_path / "none.map")
    assert status != 0
    assert "is not there" in said


@pytest.fixture
def manual(root, tmp_path):
    """A copy of the files that check-commands reads, in which the test makes mistakes."""
    shutil.copytree(root / "docs", tmp_path / "manual" / "docs")
    return tmp_path / "manual"


@pytest.mark.costly
def test_manual_is_whole(check, dist, manual):
    assert check("commands", dist / "bin/heapscope", manual) == (0, "")


@pytest.mark.costly(cases=1)
@pytest.mark.parametrize(
    ("path", "old", "new", "words"),
    [
        ("docs/man/heapscope-run.1", "Fl i , -interval", "Fl i", "--interval is missing"),
        ("docs/completion/heapscope.bash", "--no-follow", "", "--no-follow of run is missing"),
        ("docs/man/heapscope.1", ".Xr heapscope-run 1", ".Xr heapscope-walk 1", "does not name run"),
        ("docs/meson.build", "'man/heapscope-run.1'", "", "does not install"),
    ],
)
def test_gap_in_the_manual_is_found(check, dist, manual, path, old, new, words):
    text = (manual / path).read_text(encoding="utf-8")
    assert old in text
    write(manual / path, text.replace(old, new))
    status, said = check("commands", dist / "bin/heapscope", manual)
    assert status != 0
    assert words in said


@pytest.mark.costly
def test_command_without_page_is_found(check, dist, manual):
    (manual / "docs/man/heapscope-run.1").rename(manual / "docs/man/heapscope-walk.1")
    status, said = check("commands", dist / "bin/heapscope", manual)
    assert status != 0
    assert "run: no docs/man/heapscope-run.1" in said
    assert "heapscope-walk.1: there is no such command" in said
