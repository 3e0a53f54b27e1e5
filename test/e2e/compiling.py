"""How tests compile files of src/ by themselves."""

import pathlib
import platform

ROOT = pathlib.Path(__file__).resolve().parents[2]

# As in meson.build: "arch/NAME.h" is in the folder of this CPU.
INCLUDES = ["-I", ROOT / "src", "-I", ROOT / "src" / "arch" / platform.machine()]


def sources_of(folder, *but):
    """The C files in a folder of src/ and in its subfolders, except those with the stems `but`."""
    return sorted(p for p in (ROOT / "src" / folder).rglob("*.c") if p.stem not in but)


def arch_source(name):
    """A file in the folder of this CPU."""
    return ROOT / "src" / "arch" / platform.machine() / name
