/*
 * See proc_counters.h.
 */
#include "util/proc_counters.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rt/base.h"
#include "util/proc_text.h"
#include "util/saturate.h"

#define FILE_BYTES 8192

static const struct {
    const char *name;
    enum hs_counter_unit unit;
} counters_info[HS_COUNTER_N] = {
    [HS_COUNTER_VM_SIZE] = { "mem.virt", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_RSS] = { "mem.rss", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_RSS_ANON] = { "mem.rss.anon", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_RSS_FILE] = { "mem.rss.file", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_RSS_SHMEM] = { "mem.rss.shmem", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_SWAP] = { "mem.swap", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_LOCKED] = { "mem.locked", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_RSS_PEAK] = { "mem.rss.watermark", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_OOM_SCORE_ADJ] = { "oom_score_adj", HS_COUNTER_UNIT_COUNT },
    [HS_COUNTER_SMAPS_RSS] = { "mem.smaps.rss", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_PSS] = { "mem.smaps.pss", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_PSS_ANON] = { "mem.smaps.pss.anon", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_PSS_FILE] = { "mem.smaps.pss.file", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_PSS_SHMEM] = { "mem.smaps.pss.shmem", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_SWAP_PSS] = { "mem.smaps.swap.pss", HS_COUNTER_UNIT_BYTES },
    [HS_COUNTER_RUNTIME_USER] = { "runtime.user_ns", HS_COUNTER_UNIT_NS },
    [HS_COUNTER_RUNTIME_KERNEL] = { "runtime.kernel_ns", HS_COUNTER_UNIT_NS },
    [HS_COUNTER_MINOR_FAULTS] = { "page_faults.minor", HS_COUNTER_UNIT_COUNT },
    [HS_COUNTER_MAJOR_FAULTS] = { "page_faults.major", HS_COUNTER_UNIT_COUNT },
    [HS_COUNTER_THREADS] = { "num_threads", HS_COUNTER_UNIT_COUNT },
    [HS_COUNTER_LIVE] = { "heap.live", HS_COUNTER_UNIT_BYTES },
};

const char *hs_counter_name(enum hs_counter counter)
{
    return counters_info[counter].name;
}

enum hs_counter_unit hs_counter_unit(enum hs_counter counter)
{
    return counters_info[counter].unit;
}

static uint32_t clamp_u32(uint64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

struct line_counter {
    const char *key;
    enum hs_counter counter;
};

static bool take_counter(struct hs_proc_text *line, const struct line_counter *known, size_t count,
                         struct hs_counters *counters)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t n;
        if (hs_proc_text_take_key(line, known[i].key)) {
            if (!hs_proc_text_take_size(line, &n)) {
                return false;
            }
            hs_counters_set(counters, known[i].counter, hs_saturate_signed(n));
            return true;
        }
    }
    return false;
}

/* The first number is the pid in our own namespace. */
static void take_nspids(struct hs_proc_text *line, struct hs_proc_identity *identity)
{
    uint64_t pid;
    identity->nspid_count = 0;
    for (bool is_ours = true; hs_proc_text_take_number(line, &pid); is_ours = false) {
        if (!is_ours && identity->nspid_count < HS_NSPIDS_MAX) {
            identity->nspids[identity->nspid_count++] = clamp_u32(pid);
        }
    }
}

int hs_counters_parse_status(const char *text, size_t text_bytes, struct hs_counters *counters,
                             struct hs_proc_identity *ret_identity)
{
    static const struct line_counter known[] = {
        { "VmSize", HS_COUNTER_VM_SIZE },     { "VmRSS", HS_COUNTER_RSS },
        { "RssAnon", HS_COUNTER_RSS_ANON },   { "RssFile", HS_COUNTER_RSS_FILE },
        { "RssShmem", HS_COUNTER_RSS_SHMEM }, { "VmSwap", HS_COUNTER_SWAP },
        { "VmLck", HS_COUNTER_LOCKED },       { "VmHWM", HS_COUNTER_RSS_PEAK },
        { "Threads", HS_COUNTER_THREADS },
    };
    struct hs_proc_text c = { text, text + text_bytes }, line;
    struct hs_proc_identity unused = { 0 };
    struct hs_proc_identity *identity = ret_identity ? ret_identity : &unused;
    uint64_t n, effective;
    bool is_status = false;
    while (hs_proc_text_take_line(&c, &line)) {
        if (hs_proc_text_take_key(&line, "Tgid")) {
            is_status |= hs_proc_text_take_number(&line, &n);
        } else if (hs_proc_text_take_key(&line, "Uid")) {
            if (hs_proc_text_take_number(&line, &n) &&
                hs_proc_text_take_number(&line, &effective)) {
                identity->uid = clamp_u32(effective);
            }
        } else if (hs_proc_text_take_key(&line, "NSpid")) {
            take_nspids(&line, identity);
        } else {
            take_counter(&line, known, HS_COUNT_OF(known), counters);
        }
    }
    return is_status ? 0 : -EINVAL;
}

int hs_counters_parse_stat(const char *text, size_t text_bytes, uint64_t tick_ns,
                           struct hs_counters *counters, struct hs_proc_identity *ret_identity)
{
    struct hs_proc_stat stat;
    int r = hs_proc_parse_stat(text, text_bytes, &stat);
    if (r < 0) {
        return r;
    }
    uint64_t user_ns, kernel_ns;
    user_ns = __builtin_mul_overflow(stat.user_ticks, tick_ns, &user_ns) ? UINT64_MAX : user_ns;
    kernel_ns =
        __builtin_mul_overflow(stat.kernel_ticks, tick_ns, &kernel_ns) ? UINT64_MAX : kernel_ns;
    hs_counters_set(counters, HS_COUNTER_MINOR_FAULTS, hs_saturate_signed(stat.minor_fault_count));
    hs_counters_set(counters, HS_COUNTER_MAJOR_FAULTS, hs_saturate_signed(stat.major_fault_count));
    hs_counters_set(counters, HS_COUNTER_RUNTIME_USER, hs_saturate_signed(user_ns));
    hs_counters_set(counters, HS_COUNTER_RUNTIME_KERNEL, hs_saturate_signed(kernel_ns));
    if (ret_identity) {
        ret_identity->pid = stat.pid;
        ret_identity->ppid = stat.ppid;
        ret_identity->start_ticks = stat.start_ticks;
        ret_identity->child_faults = stat.child_fault_count;
        ret_identity->state = stat.state;
        ret_identity->is_kernel_thread = stat.is_kernel_thread;
    }
    return 0;
}

int hs_counters_parse_oom_score_adj(const char *text, size_t text_bytes,
                                    struct hs_counters *counters)
{
    struct hs_proc_text c = { text, text + text_bytes };
    uint64_t n;
    bool is_negative;
    if (!hs_proc_text_take_signed(&c, &n, &is_negative)) {
        return -EINVAL;
    }
    hs_counters_set(counters, HS_COUNTER_OOM_SCORE_ADJ,
                    is_negative ? -hs_saturate_signed(n) : hs_saturate_signed(n));
    return 0;
}

int hs_counters_parse_rollup(const char *text, size_t text_bytes, struct hs_counters *counters)
{
    static const struct line_counter known[] = {
        { "Rss", HS_COUNTER_SMAPS_RSS },     { "Pss", HS_COUNTER_PSS },
        { "Pss_Anon", HS_COUNTER_PSS_ANON }, { "Pss_File", HS_COUNTER_PSS_FILE },
        { "SwapPss", HS_COUNTER_SWAP_PSS },  { "Pss_Shmem", HS_COUNTER_PSS_SHMEM },
    };
    struct hs_proc_text c = { text, text + text_bytes }, line;
    bool is_rollup = false;
    while (hs_proc_text_take_line(&c, &line)) {
        is_rollup |= take_counter(&line, known, HS_COUNT_OF(known), counters);
    }
    return is_rollup ? 0 : -EINVAL;
}

/* --- readers ---------------------------------------------------------------------------------- */

static int read_file(const char *folder, pid_t pid, const char *name, char *buf, size_t cap_bytes,
                     size_t *ret_bytes)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s/%d/%s", folder, (int)pid, name);
    if (len < 0 || (size_t)len >= sizeof(path)) {
        return -ENAMETOOLONG;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    size_t n = 0;
    ssize_t got = 1;
    while (n < cap_bytes && got > 0) {
        got = read(fd, buf + n, cap_bytes - n);
        if (got < 0 && errno == EINTR) {
            got = 1;
            continue;
        }
        n += got > 0 ? (size_t)got : 0;
    }
    int r = got < 0 ? -errno : 0;
    close(fd);
    *ret_bytes = n;
    return r;
}

static uint64_t tick_ns(void)
{
    long ticks = sysconf(_SC_CLK_TCK);
    return ticks > 0 ? UINT64_C(1000000000) / (uint64_t)ticks : 0;
}

int hs_proc_read_counters(const char *folder, pid_t pid, struct hs_counters *counters,
                          struct hs_proc_identity *ret_identity)
{
    char text[FILE_BYTES];
    size_t n = 0;
    if (ret_identity) {
        *ret_identity = (struct hs_proc_identity){ .uid = -1 };
    }
    int r = read_file(folder, pid, "status", text, sizeof(text), &n);
    if (r == 0) {
        r = hs_counters_parse_status(text, n, counters, ret_identity);
    }
    if (r == 0) {
        r = read_file(folder, pid, "stat", text, sizeof(text), &n);
    }
    if (r == 0) {
        r = hs_counters_parse_stat(text, n, tick_ns(), counters, ret_identity);
    }
    return r;
}

int hs_proc_read_oom_score_adj(const char *folder, pid_t pid, struct hs_counters *counters)
{
    char text[FILE_BYTES];
    size_t n = 0;
    int r = read_file(folder, pid, "oom_score_adj", text, sizeof(text), &n);
    return r < 0 ? r : hs_counters_parse_oom_score_adj(text, n, counters);
}

int hs_proc_read_rollup(const char *folder, pid_t pid, struct hs_counters *counters)
{
    char text[FILE_BYTES];
    size_t n = 0;
    int r = read_file(folder, pid, "smaps_rollup", text, sizeof(text), &n);
    if (r == 0 && n == 0) {
        return -ESRCH; /* a zombie's file is empty */
    }
    return r < 0 ? r : hs_counters_parse_rollup(text, n, counters);
}
