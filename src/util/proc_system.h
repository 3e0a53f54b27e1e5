/*
 * Memory of the machine: /proc/meminfo, and how much tasks wait for CPU, disk and memory (/proc/pressure).
 *
 * Holds     the numbers of enum hs_meminfo are those of Perfetto's MeminfoCounters: they stand in files.
 * Threads   pure functions; readers keep no state.
 * Fails     -EINVAL not of this form; readers: -errno, -ENOENT or -EOPNOTSUPP where the kernel measures no pressure.
 * See       proc(5), Documentation/accounting/psi.rst of the kernel
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_MEMINFO_N 34 /* numbers 1 .. 33 */

struct hs_meminfo {
    uint64_t has_mask; /* bit: its number */
    uint64_t values_bytes[HS_MEMINFO_N];
};

/* The line's name, "MemAvailable", by its number; NULL: there is none of this number. */
const char *hs_meminfo_name(unsigned number);
int hs_meminfo_parse(const char *text, size_t text_bytes, struct hs_meminfo *ret_meminfo);
int hs_meminfo_read(const char *folder, struct hs_meminfo *ret_meminfo);

/* Numbers of Perfetto's PsiResource. */
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
    uint32_t has_mask; /* bit: its number */
    uint64_t total_ns[HS_PRESSURE_N];
};

/* "psi.mem.some" */
const char *hs_pressure_name(enum hs_pressure pressure);
/* One of the three files; `some` is the number of its first line. */
int hs_pressure_parse(const char *text, size_t text_bytes, enum hs_pressure some,
                      struct hs_pressures *pressures);
/* What there is of them. */
int hs_pressure_read(const char *folder, struct hs_pressures *ret_pressures);
