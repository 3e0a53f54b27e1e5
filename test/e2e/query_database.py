"""A small profile as an SQLite database with the tables that queries expect, made by hand."""

import sqlite3

SCHEMA = """
CREATE TABLE stack_profile_mapping(id INTEGER PRIMARY KEY, build_id, exact_offset, start_offset, start, end, load_bias, name);
CREATE TABLE stack_profile_frame(id INTEGER PRIMARY KEY, name, mapping, rel_pc, symbol_set_id, deobfuscated_name, type);
CREATE TABLE stack_profile_callsite(id INTEGER PRIMARY KEY, depth, parent_id, frame_id);
CREATE TABLE stack_profile_symbol(id INTEGER PRIMARY KEY, symbol_set_id, name, source_file, line_number, inlined);
CREATE TABLE heap_profile_allocation(id INTEGER PRIMARY KEY, ts, upid, heap_name, callsite_id, count, size);
CREATE TABLE heap_profile(id INTEGER PRIMARY KEY, ts, ts_end, dur, upid, heap_name);
"""

# main calls work, which calls malloc, with `helper` inlined into work; main calls _ZN1a1bEv too.
ROWS = {
    "stack_profile_mapping": [
        (0, "00112233445566778899aabbccddeeff", 0, 0, 0, 4096, 0, "/bin/app"),
        (1, "", 0, 0, 0, 4096, 0, "/lib/libc.so"),
    ],
    "stack_profile_frame": [
        (0, "main", 0, 16, None, None, None),
        (1, "work", 0, 32, 0, None, None),
        (2, "malloc", 1, 48, None, None, None),
        (3, "_ZN1a1bEv", 0, 64, None, None, None),
    ],
    "stack_profile_callsite": [(0, 0, None, 0), (1, 1, 0, 1), (2, 2, 1, 2), (3, 1, 0, 3)],
    "stack_profile_symbol": [(0, 0, "helper", "h.c", 3, 1), (1, 0, "work", "w.c", 7, 0)],
    "heap_profile_allocation": [
        (0, 10, 1, "libc.malloc", 2, 4, 400),
        (1, 10, 1, "libc.malloc", 2, -1, -100),
        (2, 10, 1, "libc.malloc", 3, 2, 50),
        (3, 20, 1, "libc.malloc", 2, 1, 100),
        (4, 20, 1, "other", 3, 1, 7),
    ],
    "heap_profile": [
        (0, 10, 10, 0, 1, "libc.malloc"),
        (1, 20, 20, 0, 1, "libc.malloc"),
        (2, 20, 20, 0, 1, "other"),
    ],
}


def write_database(path):
    with sqlite3.connect(path) as db:
        db.executescript(SCHEMA)
        for table, rows in ROWS.items():
            marks = ",".join("?" * len(rows[0]))
            db.executemany(f"INSERT INTO {table} VALUES({marks})", rows)
    db.close()
    return path
