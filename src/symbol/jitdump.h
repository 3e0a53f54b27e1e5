/*
 * Reads jitdumps, in which JIT compilers record the code that they make, with times.
 *
 * A jitdump (jit-PID.dump, Linux perf's JITDUMP format, version 1) is a binary file: a header, then
 * records, each with its length and its time. LOAD says that code with a name is at an address from
 * this time on; MOVE that it is elsewhere from now on; DEBUG_INFO, before a LOAD, which lines the
 * code has. `node --perf-prof`, LLVM's JIT and JVM agents write it. Of all code that was at an
 * address before a given time, the newest counts; if none was, the oldest after it.
 *
 * The file is foreign. It is read with pread(), never mapped, because its owner may truncate it at
 * any time; the code itself is skipped.
 *
 * Ensures   every length in the file is checked before it is used; at most HS_JITDUMP_BYTES_MAX
 *           bytes of the file count.
 * Threads   none.
 * See       docs/SYMBOLS.md, "Code made at run time"
 */
#pragma once

#include <stdint.h>

#include "symbol/symbol_builder.h"
#include "symbol/symbol_request.h"

#define HS_JITDUMP_BYTES_MAX (UINT64_C(4) << 30)

/*
 * Names the builder's addresses from an open jitdump. Records that are newer than
 * `times->time_max_ns` do not count. A file whose times are of another clock is read whole, and of
 * all code at an address the last counts. Returns 0; -ENOEXEC: not a jitdump of this machine;
 * -ENOMEM; -errno of reading.
 */
int hs_jitdump_names_fd(struct hs_symbol_builder *builder, int fd,
                        const struct hs_symbol_jit_times *times);
