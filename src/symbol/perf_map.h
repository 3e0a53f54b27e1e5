/*
 * Perf maps: what JIT compilers write about the code they make.
 *
 * A text file, /tmp/perf-PID.map, a line per piece of code: start and size in hexadecimal, then the
 * name, up to the end of the line. JVMs (perf-map-agent, -XX:+DumpPerfMapAtExit), V8
 * (--perf-basic-prof) and Python 3.12 (-X perf) write them. Code moves and its place is used again,
 * so of two lines that cover an address the later one counts.
 *
 * /tmp is anybody's: a map is believed only when it is a plain file of the reader or of root,
 * and read to a limit, never mapped, because its owner may cut it short meanwhile.
 *
 * Threads   none.
 * See       docs/SYMBOLS.md, "Code made at run time"
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_builder.h"

struct hs_perf_map_entry {
    uint64_t start_va;
    uint64_t size_bytes;
    const char *name; /* into the line; name_bytes long, not terminated */
    size_t name_bytes;
};

/* Reads one line, without its end. False for anything but `START SIZE name`. */
bool hs_perf_map_parse_line(const char *line, size_t bytes, struct hs_perf_map_entry *ret_entry);

/*
 * Names the builder's addresses from the map of process `pid` in `folder`. -ENOENT when there is
 * none, -EACCES when it may not be believed. ret_path receives its path, PATH_MAX bytes long.
 */
int hs_perf_map_names(struct hs_symbol_builder *builder, const char *folder, uint32_t pid,
                      char *ret_path);

/* The same from an open file. Fails with the -errno of reading, -ENOMEM. */
int hs_perf_map_names_fd(struct hs_symbol_builder *builder, int fd);
