/*
 * See proc_system.h.
 */
#include "util/proc_system.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "util/buf.h"
#include "util/proc.h"
#include "util/proc_text.h"

static const char *const names[HS_MEMINFO_N] = {
    [1] = "MemTotal",      [2] = "MemFree",         [3] = "MemAvailable",  [4] = "Buffers",
    [5] = "Cached",        [6] = "SwapCached",      [7] = "Active",        [8] = "Inactive",
    [9] = "Active(anon)",  [10] = "Inactive(anon)", [11] = "Active(file)", [12] = "Inactive(file)",
    [13] = "Unevictable",  [14] = "Mlocked",        [15] = "SwapTotal",    [16] = "SwapFree",
    [17] = "Dirty",        [18] = "Writeback",      [19] = "AnonPages",    [20] = "Mapped",
    [21] = "Shmem",        [22] = "Slab",           [23] = "SReclaimable", [24] = "SUnreclaim",
    [25] = "KernelStack",  [26] = "PageTables",     [27] = "CommitLimit",  [28] = "Committed_AS",
    [29] = "VmallocTotal", [30] = "VmallocUsed",    [31] = "VmallocChunk", [32] = "CmaTotal",
    [33] = "CmaFree",
};

const char *hs_meminfo_name(unsigned number)
{
    return number < HS_MEMINFO_N ? names[number] : NULL;
}

int hs_meminfo_parse(const char *text, size_t text_bytes, struct hs_meminfo *ret_meminfo)
{
    struct hs_proc_text c = { text, text + text_bytes }, line;
    struct hs_meminfo meminfo = { 0 };
    while (hs_proc_text_take_line(&c, &line)) {
        for (unsigned i = 1; i < HS_MEMINFO_N; i++) {
            if (hs_proc_text_take_key(&line, names[i])) {
                if (hs_proc_text_take_size(&line, &meminfo.values_bytes[i])) {
                    meminfo.has_mask |= UINT64_C(1) << i;
                }
                break;
            }
        }
    }
    if (meminfo.has_mask == 0) {
        return -EINVAL;
    }
    *ret_meminfo = meminfo;
    return 0;
}

static int read_text(const char *folder, const char *name, struct hs_buf *text)
{
    *text = (struct hs_buf)HS_BUF_INIT;
    return hs_proc_read_whole(folder, name, text);
}

int hs_meminfo_read(const char *folder, struct hs_meminfo *ret_meminfo)
{
    struct hs_buf text;
    int r = read_text(folder, "meminfo", &text);
    if (r == 0) {
        r = hs_meminfo_parse(text.data, text.bytes, ret_meminfo);
    }
    hs_buf_deinit(&text);
    return r;
}

const char *hs_pressure_name(enum hs_pressure pressure)
{
    static const char *const pressure_names[HS_PRESSURE_N] = {
        [HS_PRESSURE_CPU_SOME] = "psi.cpu.some",    [HS_PRESSURE_CPU_FULL] = "psi.cpu.full",
        [HS_PRESSURE_IO_SOME] = "psi.io.some",      [HS_PRESSURE_IO_FULL] = "psi.io.full",
        [HS_PRESSURE_MEMORY_SOME] = "psi.mem.some", [HS_PRESSURE_MEMORY_FULL] = "psi.mem.full",
    };
    return pressure > 0 && pressure < HS_PRESSURE_N ? pressure_names[pressure] : NULL;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=59146": microseconds. */
int hs_pressure_parse(const char *text, size_t text_bytes, enum hs_pressure some,
                      struct hs_pressures *pressures)
{
    static const char *const kinds[] = { "some ", "full " };
    struct hs_proc_text c = { text, text + text_bytes }, line;
    bool is_known = false;
    while (hs_proc_text_take_line(&c, &line)) {
        for (unsigned i = 0; i < 2; i++) {
            uint64_t total_us;
            size_t bytes = (size_t)(line.end - line.at);
            const char *total = memmem(line.at, bytes, " total=", 7);
            if (bytes < 5 || memcmp(line.at, kinds[i], 5) != 0 || !total) {
                continue;
            }
            struct hs_proc_text number = { total + 7, line.end };
            if (hs_proc_text_take_number(&number, &total_us)) {
                uint64_t total_ns;
                bool is_over = __builtin_mul_overflow(total_us, 1000, &total_ns);
                pressures->total_ns[some + i] = is_over ? UINT64_MAX : total_ns;
                pressures->has_mask |= 1U << (some + i);
                is_known = true;
            }
        }
    }
    return is_known ? 0 : -EINVAL;
}

int hs_pressure_read(const char *folder, struct hs_pressures *ret_pressures)
{
    static const struct {
        const char *name;
        enum hs_pressure some;
    } files[] = { { "pressure/cpu", HS_PRESSURE_CPU_SOME },
                  { "pressure/io", HS_PRESSURE_IO_SOME },
                  { "pressure/memory", HS_PRESSURE_MEMORY_SOME } };
    struct hs_pressures pressures = { 0 };
    int last = 0;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct hs_buf text;
        int r = read_text(folder, files[i].name, &text);
        if (r == 0) {
            r = hs_pressure_parse(text.data, text.bytes, files[i].some, &pressures);
        }
        hs_buf_deinit(&text);
        last = r < 0 ? r : last;
    }
    *ret_pressures = pressures;
    return pressures.has_mask != 0 ? 0 : last;
}
