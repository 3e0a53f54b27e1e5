/*
 * Parsers of /proc/PID text: see proc.h.
 */
#include "util/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rt/base.h"
#include "util/buf.h"
#include "util/proc_text.h"

/* Bits of the flags field of /proc/PID/stat. */
#define PROC_FLAG_EXITING       0x4
#define PROC_FLAG_KERNEL_THREAD 0x00200000

static uint32_t clamp_u32(uint64_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static void copy_text(char *ret_text, size_t cap_bytes, const char *from, size_t from_bytes)
{
    size_t n = from_bytes < cap_bytes - 1 ? from_bytes : cap_bytes - 1;
    if (n > 0) {
        memcpy(ret_text, from, n);
    }
    ret_text[n] = '\0';
}

int hs_proc_parse_stat(const char *text, size_t text_bytes, struct hs_proc_stat *ret_stat)
{
    struct hs_proc_text c = { text, text + text_bytes };
    struct hs_proc_stat stat = { 0 };
    uint64_t fields[53] = { 0 }; /* indexed by the field numbers of proc(5) */
    if (!hs_proc_text_take_number(&c, &fields[1])) {
        return -EINVAL;
    }
    /* comm can contain blanks and brackets: it ends at the last closing bracket. */
    const char *open = memchr(c.at, '(', (size_t)(c.end - c.at));
    const char *close = open ? memrchr(open, ')', (size_t)(c.end - open)) : NULL;
    if (!close) {
        return -EINVAL;
    }
    copy_text(stat.comm, sizeof(stat.comm), open + 1, (size_t)(close - open - 1));
    c.at = close + 1;
    hs_proc_text_skip_blanks(&c);
    if (c.at >= c.end) {
        return -EINVAL;
    }
    stat.state = *c.at++;
    for (size_t i = 4; i < HS_COUNT_OF(fields) && hs_proc_text_take_number(&c, &fields[i]); i++) {
    }
    stat.pid = clamp_u32(fields[1]);
    stat.ppid = clamp_u32(fields[4]);
    stat.pgrp = clamp_u32(fields[5]);
    stat.session = clamp_u32(fields[6]);
    stat.is_exiting =
        (fields[9] & PROC_FLAG_EXITING) != 0 || stat.state == 'Z' || stat.state == 'X';
    stat.is_kernel_thread = (fields[9] & PROC_FLAG_KERNEL_THREAD) != 0;
    stat.minor_fault_count = fields[10];
    stat.child_fault_count = fields[11];
    stat.major_fault_count = fields[12];
    stat.user_ticks = fields[14];
    stat.kernel_ticks = fields[15];
    stat.start_ticks = fields[22];
    stat.vsize_bytes = fields[23];
    stat.rss_pages = fields[24];
    stat.stack_start_va = fields[28];
    stat.exit_code = clamp_u32(fields[52]);
    *ret_stat = stat;
    return 0;
}

/* A known line of the form "Key: number [kB]". */
struct line_field {
    const char *key;
    uint64_t *ret_number;
};

static bool take_field(struct hs_proc_text *line, const struct line_field *fields,
                       size_t field_count)
{
    for (size_t i = 0; i < field_count; i++) {
        if (hs_proc_text_take_key(line, fields[i].key)) {
            return hs_proc_text_take_size(line, fields[i].ret_number);
        }
    }
    return false;
}

/* Reads a bit mask of sixteen hexadecimal digits. */
static uint64_t take_mask(struct hs_proc_text *c)
{
    uint64_t mask = 0;
    hs_proc_text_skip_blanks(c);
    for (; c->at < c->end; c->at++) {
        char digit = *c->at;
        if (digit >= '0' && digit <= '9') {
            mask = mask << 4 | (uint64_t)(digit - '0');
        } else if (digit >= 'a' && digit <= 'f') {
            mask = mask << 4 | (uint64_t)(digit - 'a' + 10);
        } else {
            break;
        }
    }
    return mask;
}

/* Reads the real, effective and saved id; the line's fourth id is that of the file system. */
static void take_ids(struct hs_proc_text *c, struct hs_proc_ids *ret_ids)
{
    uint64_t real, effective, saved;
    if (hs_proc_text_take_number(c, &real) && hs_proc_text_take_number(c, &effective) &&
        hs_proc_text_take_number(c, &saved)) {
        *ret_ids = (struct hs_proc_ids){ clamp_u32(real), clamp_u32(effective), clamp_u32(saved) };
    }
}

/* The line holds the process's number in each namespace, ours first. */
static void take_ns_pids(struct hs_proc_text *c, struct hs_proc_status *status)
{
    uint64_t pid = 0;
    uint32_t count = 0;
    while (hs_proc_text_take_number(c, &pid)) {
        count++;
    }
    status->pid_ns_depth = count > 0 ? count - 1 : 0;
    status->own_pid = (uint32_t)pid;
}

/* Reads the lines that hold more than one decimal number. */
static bool take_special_line(struct hs_proc_text *line, struct hs_proc_status *status)
{
    if (hs_proc_text_take_key(line, "Name")) {
        hs_proc_text_skip_blanks(line);
        copy_text(status->name, sizeof(status->name), line->at, (size_t)(line->end - line->at));
    } else if (hs_proc_text_take_key(line, "ShdPnd")) {
        status->pending_mask = take_mask(line);
    } else if (hs_proc_text_take_key(line, "CapPrm")) {
        status->cap_permitted_mask = take_mask(line);
    } else if (hs_proc_text_take_key(line, "CapEff")) {
        status->cap_effective_mask = take_mask(line);
    } else if (hs_proc_text_take_key(line, "Uid")) {
        take_ids(line, &status->uid);
    } else if (hs_proc_text_take_key(line, "Gid")) {
        take_ids(line, &status->gid);
    } else if (hs_proc_text_take_key(line, "NSpid")) {
        take_ns_pids(line, status);
    } else {
        return false;
    }
    return true;
}

int hs_proc_parse_status(const char *text, size_t text_bytes, struct hs_proc_status *ret_status)
{
    struct hs_proc_text c = { text, text + text_bytes }, line;
    struct hs_proc_status status = { 0 };
    uint64_t tgid = 0, ppid = 0, tracer_pid = 0, thread_count = 0, seccomp_mode = 0;
    const struct line_field fields[] = {
        { "Tgid", &tgid },
        { "PPid", &ppid },
        { "TracerPid", &tracer_pid },
        { "Threads", &thread_count },
        { "Seccomp", &seccomp_mode },
        { "VmHWM", &status.vm_hwm_bytes },
        { "VmRSS", &status.vm_rss_bytes },
        { "RssAnon", &status.rss_anon_bytes },
        { "VmSwap", &status.vm_swap_bytes },
        { "VmPTE", &status.vm_pte_bytes },
    };
    while (hs_proc_text_take_line(&c, &line)) {
        if (!take_special_line(&line, &status)) {
            take_field(&line, fields, HS_COUNT_OF(fields));
        }
    }
    if (tgid == 0) {
        return -EINVAL;
    }
    status.tgid = clamp_u32(tgid);
    status.ppid = clamp_u32(ppid);
    status.tracer_pid = clamp_u32(tracer_pid);
    status.thread_count = clamp_u32(thread_count);
    status.seccomp_mode = clamp_u32(seccomp_mode);
    *ret_status = status;
    return 0;
}

void hs_proc_parse_comm(const char *text, size_t text_bytes, char *ret_comm, size_t comm_bytes)
{
    const char *nl = text_bytes ? memchr(text, '\n', text_bytes) : NULL;
    copy_text(ret_comm, comm_bytes, text, nl ? (size_t)(nl - text) : text_bytes);
}

void hs_proc_join_cmdline(const char *text, size_t text_bytes, char *ret_line, size_t line_bytes)
{
    /* The NUL that ends the last argument does not become a blank. */
    while (text_bytes > 0 && text[text_bytes - 1] == '\0') {
        text_bytes--;
    }
    copy_text(ret_line, line_bytes, text, text_bytes);
    size_t n = text_bytes < line_bytes - 1 ? text_bytes : line_bytes - 1;
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)ret_line[i];
        if (byte == '\0') {
            ret_line[i] = ' ';
        } else if (byte < ' ' || byte == 127) {
            ret_line[i] = '?';
        }
    }
}

bool hs_proc_find_env(const char *text, size_t text_bytes, const char *name, char *ret_value,
                      size_t value_bytes)
{
    size_t name_bytes = strlen(name);
    for (size_t at = 0; at < text_bytes;) {
        size_t bytes = strnlen(text + at, text_bytes - at);
        if (bytes > name_bytes && text[at + name_bytes] == '=' &&
            memcmp(text + at, name, name_bytes) == 0) {
            copy_text(ret_value, value_bytes, text + at + name_bytes + 1, bytes - name_bytes - 1);
            return true;
        }
        at += bytes + 1;
    }
    return false;
}

/* Reads up to `cap_bytes` bytes, or to the end of the file. */
static ssize_t read_up_to(int fd, char *buf, size_t cap_bytes)
{
    size_t n = 0;
    while (n < cap_bytes) {
        ssize_t got = read(fd, buf + n, cap_bytes - n);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        if (got == 0) {
            break;
        }
        n += (size_t)got;
    }
    return (ssize_t)n;
}

int hs_proc_read(pid_t pid, const char *name, char *buf, size_t cap_bytes, size_t *ret_bytes)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    ssize_t got = read_up_to(fd, buf, cap_bytes);
    close(fd);
    if (got < 0) {
        return (int)got;
    }
    *ret_bytes = (size_t)got;
    return 0;
}

int hs_proc_read_whole(const char *folder, const char *name, struct hs_buf *out)
{
    char path[PATH_MAX], part[16384];
    int len = snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (len < 0 || (size_t)len >= sizeof(path)) {
        return -ENAMETOOLONG;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    size_t limit_bytes = out->bytes + HS_PROC_FILE_BYTES_MAX;
    ssize_t got;
    do {
        got = read_up_to(fd, part, sizeof(part));
        hs_buf_add(out, part, got > 0 ? (size_t)got : 0);
    } while (got == (ssize_t)sizeof(part) && !out->err && out->bytes <= limit_bytes);
    close(fd);
    if (got < 0) {
        return (int)got;
    }
    return out->bytes > limit_bytes ? -EFBIG : out->err;
}

int hs_proc_read_stat(pid_t pid, struct hs_proc_stat *ret_stat)
{
    char text[2048];
    size_t n = 0;
    int r = hs_proc_read(pid, "stat", text, sizeof(text), &n);
    return r < 0 ? r : hs_proc_parse_stat(text, n, ret_stat);
}

int hs_proc_read_status(pid_t pid, struct hs_proc_status *ret_status)
{
    char text[8192];
    size_t n = 0;
    int r = hs_proc_read(pid, "status", text, sizeof(text), &n);
    return r < 0 ? r : hs_proc_parse_status(text, n, ret_status);
}

uint64_t hs_proc_children_cpu_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0) {
        return 0;
    }
    uint64_t us = (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * UINT64_C(1000000000) +
           us * 1000;
}
