/*
 * Memory of the machine (/proc/meminfo), and how long tasks wait for CPU, disk and memory
 * (/proc/pressure).
 *
 * Ensures   values are numbered as in Perfetto's MeminfoCounters and PsiResource, because files
 *           contain the numbers.
 * Threads   pure functions; readers keep no state.
 * Fails     -EINVAL: not of this form. Readers: -errno; -ENOENT or -EOPNOTSUPP where the kernel
 *           does not measure pressure.
 * See       proc(5), Documentation/accounting/psi.rst of the kernel
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_MEMINFO_N 34 /* numbers 1 .. 33 */

struct hs_meminfo {
    uint64_t has_mask; /* bit n: value n is known */
    uint64_t values_bytes[HS_MEMINFO_N];
};

/* The line's name for a number, such as "MemAvailable"; NULL: no line has this number. */
const char *hs_meminfo_name(unsigned number);
/* Parses the text of /proc/meminfo. Returns 0 or -EINVAL. */
int hs_meminfo_parse(const char *text, size_t text_bytes, struct hs_meminfo *ret_meminfo);
/* Reads and parses FOLDER/meminfo. Returns 0 or -errno. */
int hs_meminfo_read(const char *folder, struct hs_meminfo *ret_meminfo);

/* Numbered as in Perfetto's PsiResource. */
enum hs_pressure {
    HS_PRESSURE_CPU_SOME = 1,
    HS_PRESSURE_CPU_FULL,
    HS_PRESSURE_IO_SOME,
    HS_PRESSURE_IO_FULL,
    HS_PRESSURE_MEMORY_SOME,
    HS_PRESSURE_MEMORY_FULL,
    HS_PRESSURE_N,
};

struct hs_pressures {
    uint32_t has_mask; /* bit n: value n is known */
    uint64_t total_ns[HS_PRESSURE_N];
};

/* The name of a value, such as "psi.mem.some". */
const char *hs_pressure_name(enum hs_pressure pressure);
/*
 * Parses one of the three files. `some` is the number of the file's first line; its second line has
 * the next number. Returns 0 or -EINVAL.
 */
int hs_pressure_parse(const char *text, size_t text_bytes, enum hs_pressure some,
                      struct hs_pressures *pressures);
/* Reads those of the three files that exist. Returns 0 or -errno. */
int hs_pressure_read(const char *folder, struct hs_pressures *ret_pressures);
