"""pprof with labels: one sample a block (--with-tags), or one for each thread, type, age and scope (--labels)."""

import subprocess

import pprof_file
import pytest
from conftest import clean_env
from test_blocks import child_of, known_blocks, rows
from threads_at_work import at_work, number


def export(heapscope, root, file, out, *options):
    done = heapscope("export", "-f", "pprof", *options, "-o", out, file)
    assert done.returncode == 0, done.stderr
    return pprof_file.read(root, out)


@pytest.fixture(scope="module", params=[1, 4096])
def recorded(request, dist, tmp_path_factory):
    file = tmp_path_factory.mktemp("labels") / "x.pftrace"
    command = [dist / "bin" / "heapscope", "run", "-q", "--blocks", "-i", request.param, "-o", file, "--", "/usr/bin/python3", "-c",
               at_work(0.02) + "import os; os._exit(0)"]
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, env=clean_env(), timeout=60)
    assert done.returncode == 0
    return file


@pytest.mark.costly
@pytest.mark.parametrize("labels", ["thread", "type", "age,thread", "scope,label", "thread,type,age,scope,label"])
def test_sums_of_labels(heapscope, root, recorded, tmp_path, labels):
    """For each stack, the samples with labels add up to the one without, in all values."""
    types, plain = export(heapscope, root, recorded, tmp_path / "plain.pb.gz")
    labelled_types, labelled = export(heapscope, root, recorded, tmp_path / "l.pb.gz", "--labels", labels)
    assert labelled_types == types
    assert pprof_file.sums_by_stack(labelled) == pprof_file.sums_by_stack(plain)
    if "thread" in labels:
        with_thread = [sample for sample in labelled if "thread" in sample.labels]
        assert len({sample.labels["thread"] for sample in with_thread}) >= 4
        assert all(sample.labels["thread"].endswith("]") and sample.values[:2] == [0, 0] for sample in with_thread)
        live = types.index("inuse_space")
        assert all(sample.values[live] == 0 for sample in labelled if "thread" not in sample.labels)


@pytest.mark.costly
def test_sums_of_tags(heapscope, root, recorded, tmp_path):
    """One sample a block, which add up to what lives; addresses, threads and sizes are those of SQL."""
    types, plain = export(heapscope, root, recorded, tmp_path / "plain.pb.gz")
    tag_types, tagged = export(heapscope, root, recorded, tmp_path / "t.pb.gz", "--with-tags")
    assert tag_types == ["inuse_objects", "inuse_space"]
    at = [types.index(name) for name in tag_types]
    live = {key: [values[i] for i in at] for key, values in pprof_file.sums_by_stack(plain).items()}
    assert pprof_file.sums_by_stack(tagged) == {key: values for key, values in live.items() if values != [0, 0]}
    blocks = rows(heapscope, recorded, "SELECT * FROM heapscope_blocks WHERE is_counted")
    blocks = [{key: None if value == "[NULL]" else value for key, value in block.items()} for block in blocks]
    known = {(f"0x{int(block['address']):x}" if block["address"] else None, block["size"], f"{block['thread_name']}[{block['tid']}]",
              int(block["birth_ns"]), block["type_name"]) for block in blocks}
    found = [(sample.labels.get("address"), str(sample.labels["bytes"]), sample.labels["thread"], sample.labels["timestamp"],
              sample.labels.get("type")) for sample in tagged]
    assert len(found) == len(blocks) and set(found) == known
    assert tagged[0].labels["units"]["bytes"] == "bytes" and tagged[0].labels["units"]["timestamp"] == "nanoseconds"


@pytest.mark.costly
def test_reading_them_again(heapscope, recorded, tmp_path):
    """heapscope reads the blocks of a pprof file."""
    out = tmp_path / "t.pb.gz"
    assert heapscope("export", "--with-tags", "-o", out, recorded).returncode == 0
    columns = "SELECT address, size, bytes, tid, thread_name, birth_ns, type_name FROM heapscope_blocks WHERE address ORDER BY address"
    assert rows(heapscope, out, columns) == rows(heapscope, recorded, columns.replace("WHERE", "WHERE is_counted AND"))
    again = tmp_path / "again.pb.gz"
    assert heapscope("export", "--with-tags", "-o", again, out).returncode == 0
    assert number(heapscope, again, "SELECT sum(bytes) FROM heapscope_blocks") == number(heapscope, out, "SELECT sum(bytes) FROM heapscope_blocks")


def test_scopes_of_a_program(heapscope, root, target, flags, run, tmp_path):
    done = run([target("scopes", *flags[0], *flags[1], "-pthread")], "-i", 1)
    _, samples = export(heapscope, root, done.file, tmp_path / "x.pb.gz", "--labels", "scope,label")
    assert any(sample.labels.get("tenant") == "a" for sample in samples)
    assert any(sample.labels.get("scope", "").endswith("tenant=a") for sample in samples)


def test_a_snapshot_with_tags(heapscope, root, dist, target, tmp_path):
    command = [dist / "bin" / "heapscope", "run", "-q", "-i", 1, "-o", tmp_path / "x.pftrace", "--", target("block_list", "-pthread")]
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_env()) as program:
        known = known_blocks(program)
        out = tmp_path / "s.pb.gz"
        done = heapscope("snapshot", "--with-tags", "-p", child_of(program.pid), "--output-file", out)
        assert done.returncode == 0, done.stderr
        program.stdin.close()
    _, samples = pprof_file.read(root, out)
    found = {sample.labels["address"]: sample.labels for sample in samples if "address" in sample.labels}
    for address, (size, thread) in known.items():
        labels = found[f"0x{int(address):x}"]
        assert labels["bytes"] == int(size) and labels["thread"].startswith(f"{thread}[")


@pytest.mark.costly(cases=4)
@pytest.mark.parametrize("options, status, words", [
    (["--with-tags"], 1, "record it with --blocks"),
    (["--with-tags", "--labels", "type"], 2, "cannot be combined"),
    (["--labels", "colour"], 2, "'colour' is not one of"),
    (["--labels", "type,"], 2, "'' is not one of"),
    (["--labels", "type", "--other-below", "1K,1"], 2, "--other-below"),
    (["--labels", "type", "-f", "folded"], 2, "only pprof has labels"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_wrong_use(heapscope, run, tmp_path, options, status, words):
    done = run(["/usr/bin/python3", "-c", "pass"])
    done = heapscope("export", "-f", "pprof", *options, "-o", tmp_path / "x.pb.gz", done.file)
    assert done.returncode == status and words in done.stderr, done.stderr
    assert not (tmp_path / "x.pb.gz").exists()


def test_no_pprof_name(heapscope):
    done = heapscope("snapshot", "--with-tags", "-o", "x.pftrace")
    assert done.returncode == 2 and "use -o FILE.pb.gz" in done.stderr
