/*
 * Reads perf maps, in which JIT compilers list the code that they make.
 *
 * A perf map is a text file, /tmp/perf-PID.map, with a line for each piece of code: start and size
 * in hexadecimal, then the name, up to the end of the line. JVMs (perf-map-agent,
 * -XX:+DumpPerfMapAtExit), V8 (--perf-basic-prof) and Python 3.12 (-X perf) write them. Code moves,
 * and its addresses are used again; of two lines that cover an address the later one counts.
 *
 * Every user can write to /tmp. A map is therefore accepted only when it is a plain file that
 * belongs to the reader or to root. It is read up to a limit, never mapped, because its owner may
 * truncate it at any time.
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
    const char *name; /* points into the line; name_bytes long, not terminated */
    size_t name_bytes;
};

/* Reads one line, without its end. False for anything but `START SIZE name`. */
bool hs_perf_map_parse_line(const char *line, size_t bytes, struct hs_perf_map_entry *ret_entry);

/*
 * Names the builder's addresses from the map of process `pid` in `folder`. -ENOENT when there is
 * none, -EACCES when its owner is not trusted. ret_path receives its path and must have PATH_MAX
 * bytes.
 */
int hs_perf_map_names(struct hs_symbol_builder *builder, const char *folder, uint32_t pid,
                      char *ret_path);

/* The same from an open file, from its beginning. -errno of reading, -ENOMEM. */
int hs_perf_map_names_fd(struct hs_symbol_builder *builder, int fd);
