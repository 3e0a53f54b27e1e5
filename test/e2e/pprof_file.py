"""Reads a pprof file by protoc: samples with their stacks, values and labels."""

import gzip
import re
import subprocess


class Sample:
    def __init__(self):
        self.stack, self.values, self.labels = (), [], {}


def decode_text(word):
    """A string of protobuf's text format."""
    return re.sub(rb"\\([0-7]{3}|.)", lambda m: bytes([int(m[1], 8)]) if len(m[1]) == 3 else {b"n": b"\n", b"t": b"\t"}.get(m[1], m[1]),
                  word.encode()).decode()


def read(root, file):
    """The names of the values, and all samples."""
    plain = gzip.decompress(file.read_bytes())
    text = subprocess.run(["protoc", "--decode=hs.pprof.PprofProfile", f"-I{root}/src/profile/proto", "pprof.proto"],
                          input=plain, capture_output=True, check=True).stdout.decode()
    strings = [decode_text(word) for word in re.findall(r'^string_table: "(.*)"$', text, re.M)]
    types = [strings[int(number)] for number in re.findall(r"^sample_type \{\n  type: (\d+)", text, re.M)]
    samples = []
    for body in re.findall(r"^sample \{\n(.*?)^\}", text, re.M | re.S):
        sample = Sample()
        sample.stack = tuple(re.findall(r"^  location_id: (\d+)", body, re.M))
        sample.values = [int(value) for value in re.findall(r"^  value: (-?\d+)", body, re.M)]
        for label in re.findall(r"^  label \{\n(.*?)^  \}", body, re.M | re.S):
            fields = dict(re.findall(r"(\w+): (-?\d+)", label))
            value = strings[int(fields["str"])] if "str" in fields else int(fields.get("num", 0))
            sample.labels[strings[int(fields["key"])]] = value
            sample.labels.setdefault("units", {})[strings[int(fields["key"])]] = strings[int(fields.get("num_unit", 0))]
        samples.append(sample)
    return types, samples


def sums_by_stack(samples, keep=("heap", "pid")):
    """(stack, heap, process) -> the sums of its values."""
    sums = {}
    for sample in samples:
        key = (sample.stack, *(sample.labels.get(label) for label in keep))
        sums[key] = [a + b for a, b in zip(sums.get(key, [0] * len(sample.values)), sample.values)]
    return sums
