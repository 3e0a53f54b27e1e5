"""Builds test/target/through.c with its unwind information in one place only, and reads its stacks."""

import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "target" / "through.c"
NO_EH = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer"]
# Where the information is, and nowhere else.
PLACES = ["eh_frame", "no_hdr", "debug_frame", "debug_frame_zlib", "debug_frame_zstd", "build_id", "debuglink", "mini_debug_frame",
          "mini_eh_frame", "frame_pointer", "nothing"]
NOT_MINI = [".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_line_str", ".debug_aranges", ".debug_loclists",
            ".debug_rnglists", ".debug_loc", ".debug_ranges", ".comment", ".debug_addr", ".debug_str_offsets"]


def call(*command):
    subprocess.run([str(word) for word in command], check=True)


def debug_file_of(file):
    """Makes the debug file beside a file, and strips the file."""
    debug = file.with_name(file.name + ".debug")
    call("objcopy", "--only-keep-debug", file, debug)
    call("strip", "--strip-all", file)
    return debug


def build_id_of(file):
    notes = subprocess.run(["readelf", "-n", str(file)], capture_output=True, text=True, check=True).stdout
    return notes.partition("Build ID: ")[2].split()[0]


def pack_mini(file, mini):
    call("xz", "-k", mini)
    call("objcopy", "--add-section", f".gnu_debugdata={mini}.xz", file)


class Module:
    """A library or a program whose unwind information is in one place."""

    def __init__(self, folder, name, place, flags, compiler="gcc"):
        self.folder, self.place = folder, place
        self.file = folder / name
        self.debug_folder = folder / "debug files"
        folder.mkdir(parents=True, exist_ok=True)
        self.compile(self.file, [compiler, *flags])
        getattr(self, place)(compiler, flags)

    def compile(self, out, command):
        frames = {"eh_frame": ["-fasynchronous-unwind-tables"],
                  "no_hdr": ["-fomit-frame-pointer", "-fasynchronous-unwind-tables", "-Wl,--no-eh-frame-hdr"],
                  "frame_pointer": [*NO_EH, "-fno-omit-frame-pointer"]}
        call(*command, "-g", *frames.get(self.place, NO_EH), SOURCE, "-o", out)

    def eh_frame(self, *_):
        call("strip", "--strip-debug", self.file)

    def no_hdr(self, *_):
        call("strip", "--strip-debug", self.file)

    def debug_frame(self, *_):
        pass

    def debug_frame_zlib(self, *_):
        call("objcopy", "--compress-debug-sections=zlib", self.file)

    def debug_frame_zstd(self, *_):
        call("objcopy", "--compress-debug-sections=zstd", self.file)

    def build_id(self, *_):
        debug = debug_file_of(self.file)
        build_id = build_id_of(self.file)
        (self.debug_folder / ".build-id" / build_id[:2]).mkdir(parents=True)
        debug.rename(self.debug_folder / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug")

    def debuglink(self, *_):
        debug = debug_file_of(self.file)
        call("objcopy", f"--add-gnu-debuglink={debug}", self.file)
        (self.folder / ".debug").mkdir()
        debug.rename(self.folder / ".debug" / debug.name)

    def mini_debug_frame(self, *_):
        mini = debug_file_of(self.file)
        call("objcopy", *[word for name in NOT_MINI for word in ("--remove-section", name)], mini)
        pack_mini(self.file, mini)
        mini.unlink()

    def mini_eh_frame(self, compiler, flags):
        """The .eh_frame of the same code, compiled once more."""
        debug_file_of(self.file).unlink()
        whole, mini = self.file.with_name("whole"), self.file.with_name("mini")
        call(compiler, *flags, "-g", *NO_EH, "-fasynchronous-unwind-tables", SOURCE, "-o", whole)
        call("objcopy", "--only-section=.eh_frame", whole, mini)
        pack_mini(self.file, mini)

    def frame_pointer(self, *_):
        call("strip", "--strip-all", self.file)

    def nothing(self, *_):
        call("strip", "--strip-all", self.file)


def make_program(folder, place, how="library", optimize="-O2", compiler="gcc"):
    """A program, `how`: "library" (the functions are in a library), "pie", "fixed" (all is in one file). Returns its command's
    first words, and the environment in which debug files are found."""
    flags = [optimize, "-rdynamic", "-fno-optimize-sibling-calls", "-pthread"]
    if how == "library":
        module = Module(folder, "libthrough.so", place, [*flags, "-DLIBRARY", "-shared", "-fPIC"], compiler)
        program = folder / "through"
        call("gcc", "-O1", "-g", "-DPROGRAM", "-rdynamic", SOURCE, "-o", program, "-Wl,--no-as-needed", f"-L{folder}", "-lthrough",
             "-Wl,-rpath,$ORIGIN", "-pthread")
    else:
        module = Module(folder, "through", place, [*flags, "-pie" if how == "pie" else "-no-pie",
                                                   "-fPIE" if how == "pie" else "-fno-pie"], compiler)
        program = module.file
    return program, {"PERFETTO_BINARY_PATH": module.debug_folder}


def stacks_of(heapscope, file, env, *options):
    """{the names of a stack's frames, outermost first: bytes} of what was allocated."""
    done = heapscope("export", "-f", "folded", "--view", "alloc_space", *options, file, env=env)
    assert done.returncode == 0, done.stderr
    stacks = {}
    for line in done.stdout.splitlines():
        frames, _, count = line.rpartition(" ")
        stacks[tuple(frames.split(";"))] = int(count)
    return stacks


def through_second(stacks):
    """The stacks with the function second(); those that are cut have no second()."""
    return {stack: count for stack, count in stacks.items() if "second" in stack}


def table_inode(pid):
    """The number of the region whose unwind tables the client has taken, or None: it has none. If it has, it has a long
    mapping that begins at the region's header."""
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        if " 00001000 " in line and "memfd:heapscope" in line:
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            if end - start >= 1 << 20:
                return int(line.split()[4])
    return None


def has_tables(pid):
    return table_inode(pid) is not None

