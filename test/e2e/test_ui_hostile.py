"""The live page and names that attack it: of a program, its functions, a thread, and an argument. In Chromium, and in Firefox as far as it is driven.

Pictures go to build/page-shots.
"""

import contextlib
import subprocess

import browser
import firefox
import page_browser
import pytest
from conftest import clean_env
from resident import need_ptrace
from test_page_firefox import SHOTS
from ui_server import Ui
from waiting import wait_until

LIVE_SHOTS = page_browser.ROOT / "build" / "page-shots" / "live"
FUNCTIONS = ["<script>window.hostile=1</script>", "<img src=x onerror='window.hostile=1'>", "</script><svg onload=window.hostile=1>",
             "\\342\\200\\256evil\\342\\200\\254 \\033[31m\\007", "\\327\\251\\327\\234\\327\\225\\327\\235", "&lt;b&gt;${window.hostile=1}", "y" * 10000, "__proto__"]
NAME = "<b>\\033[1m\\342\\200\\256x"
PROGRAM = """
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
{declared}
{defined}
int main(void)
{{
    prctl(PR_SET_NAME, "{name}");
    for (;;) {{
        keep0(2000);
        usleep(5000);
    }}
}}
"""


def source():
    """Functions that call each other and keep what the last one allocates."""
    count = len(FUNCTIONS)
    declared = [f'void *keep{i}(size_t size) __asm__("\\"{name}\\"");' for i, name in enumerate(FUNCTIONS)]
    defined = [f"__attribute__((noinline)) void *keep{i}(size_t size)\n{{\n    void *block = "
               f"{f'keep{i + 1}(size)' if i + 1 < count else 'malloc(size)'};\n    memset(block, 1, size);\n    return block;\n}}"
               for i in range(count)]
    return PROGRAM.format(declared="\n".join(declared), defined="\n".join(defined), name=NAME)


@pytest.fixture
def hostile(tmp_path_factory):
    """The pid of a program with hostile names everywhere, that allocates until it is killed."""
    folder = tmp_path_factory.mktemp("hostile")
    path = folder / "<i>hostile\u202e"
    (folder / "hostile.c").write_text(source())
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", "-rdynamic", "-o", path, folder / "hostile.c"], check=True)
    process = subprocess.Popen([path, "<script>window.hostile=1</script>", "\x1b[31m"], env=clean_env())
    yield process.pid
    process.kill()
    process.wait()


@contextlib.contextmanager
def served(dist, folder):
    need_ptrace()
    ui = Ui(dist, cwd=folder, env={"XDG_RUNTIME_DIR": folder})
    try:
        yield ui
    finally:
        ui.process.kill()
        ui.process.communicate()


@pytest.mark.costly
def test_in_chromium(dist, hostile, tmp_path):
    with served(dist, tmp_path) as ui:
        page_browser.try_page("live_hostile", "", LIVE_SHOTS, HEAPSCOPE_LINK=ui.link, HEAPSCOPE_HOSTILE=str(hostile))


def go(it, address, done):
    it.open(address)
    wait_until(lambda: it.run(f"return !!({done})"), why=lambda: it.run("return document.body.innerText"), patience_s=60)


@pytest.mark.costly
def test_in_firefox(dist, hostile, tmp_path):
    """The list, a recording that is started, watched and stopped, and no complaint on the console."""
    if not firefox.find() or not browser.find():
        pytest.skip("no Firefox, or no browser at all: the live page is not tried in it")
    SHOTS.mkdir(parents=True, exist_ok=True)
    text = "document.querySelector('main').textContent"
    with served(dist, tmp_path) as ui:
        it = firefox.Firefox(tmp_path / "profile")
        try:
            go(it, ui.link + f"#view=live&live.filter={hostile}", f"document.querySelectorAll('tbody tr').length && {text}.includes('Record…')")
            it.screenshot(SHOTS / "live-list.png")
            root = ui.link.partition("?")[0]
            go(it, f"{root}#view=live&live.record={hostile}", "document.querySelector('pre[aria-label=TraceConfig]')")
            it.click("#live-start")
            wait_until(lambda: it.run("return document.querySelectorAll('.live-top tbody tr').length > 3"),
                       why=lambda: it.run("return document.body.innerText"), patience_s=60)
            for kind, word in (("functions", "<img src=x"), ("stacks", "←"), ("types", "(unknown)")):
                it.run(f"location.hash = '#view=live&live.pid={hostile}&live.kind={kind}'")
                wait_until(lambda w=word: w in it.run(f"return {text}"), why=lambda: it.run(f"return {text}"))
                it.screenshot(SHOTS / f"live-{kind}.png")
            first = it.run("return document.querySelector('.live-figures').textContent")
            wait_until(lambda: it.run("return document.querySelector('.live-figures').textContent") != first, "it does not go on")
            assert it.run("return document.querySelectorAll('.live-ledger-parts button').length > 2")
            assert it.run("return window.hostile") is None
            assert it.run("return document.documentElement.scrollWidth <= document.documentElement.clientWidth")
            it.click(".live-session button")
            wait_until(lambda: it.run("return !!document.querySelector('.live-status .live-saved')"),
                       why=lambda: it.run("return document.body.innerText"), patience_s=60)
            assert it.complaints(root) == []
        finally:
            it.close()
