/*
 * What /proc/PID says about a process: parsers for its text files, and thin readers.
 *
 * Parsers are pure functions on a buffer, because the text is foreign input (a process chooses its
 * own comm and cmdline) and because another kernel adds and drops lines: what is not known is
 * skipped, what is missing stays 0.
 *
 * Holds     every parser reads [text, text + text_bytes) only; no NUL is needed at its end.
 * Threads   pure functions; readers keep no state.
 * Fails     -EINVAL not of this form; readers: -ESRCH or -ENOENT when the process is gone,
 *           -errno else; -EFBIG too long, -ENOMEM. Outputs are untouched then, but for a buffer.
 * See       proc(5)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hs_buf;

#define HS_PROC_COMM_BYTES 16

/* /proc/PID/stat */
struct hs_proc_stat {
    uint32_t pid;
    char comm[HS_PROC_COMM_BYTES * 4]; /* kernel threads have longer ones; cut, NUL-terminated */
    char state;                        /* R S D T t Z X ... */
    uint32_t ppid;
    uint32_t pgrp;
    uint32_t session;
    bool is_exiting;       /* on its way out, its descriptors closed or about to be */
    bool is_kernel_thread; /* has no memory of its own, and no program */
    uint64_t minor_fault_count, major_fault_count;
    uint64_t child_fault_count;        /* minor ones of children that were waited for */
    uint64_t user_ticks, kernel_ticks; /* of CPU time, of all its threads */
    uint64_t start_ticks;              /* since boot; sysconf(_SC_CLK_TCK) a second */
    uint64_t vsize_bytes;
    uint64_t rss_pages;
    uint64_t stack_start_va; /* of the program that it executes; 0 to those who may not know */
    uint32_t exit_code;      /* of a zombie: as wait(2) says it; 0 also to those who may not know */
};

/* Whom a process acts for. Cut to 32 bits, as the kernel has them. */
struct hs_proc_ids {
    uint32_t real, effective, saved;
};

/* /proc/PID/status. A zombie and a kernel thread have no memory lines. */
struct hs_proc_status {
    char name[HS_PROC_COMM_BYTES * 4];
    uint32_t tgid;
    uint32_t ppid;
    uint32_t tracer_pid;
    uint32_t thread_count;
    uint64_t vm_hwm_bytes; /* highest RSS so far */
    uint64_t vm_rss_bytes;
    uint64_t rss_anon_bytes;
    uint64_t vm_swap_bytes;
    uint64_t pending_mask; /* signals that wait for the whole process: bit signal - 1 */
    struct hs_proc_ids uid, gid;
    uint64_t cap_permitted_mask, cap_effective_mask; /* bit CAP_x */
    uint32_t seccomp_mode;                           /* 0 none, 1 strict, 2 filtered */
    uint32_t pid_ns_depth; /* pid namespaces below ours that it is in: 0 when it is in ours */
};

/* /proc/PID/smaps_rollup */
struct hs_proc_smaps {
    uint64_t rss_bytes;
    uint64_t pss_bytes;
    uint64_t shared_clean_bytes, shared_dirty_bytes;
    uint64_t private_clean_bytes, private_dirty_bytes;
    uint64_t anonymous_bytes;
    uint64_t swap_bytes;
};

int hs_proc_parse_stat(const char *text, size_t text_bytes, struct hs_proc_stat *ret_stat);
int hs_proc_parse_status(const char *text, size_t text_bytes, struct hs_proc_status *ret_status);
int hs_proc_parse_smaps_rollup(const char *text, size_t text_bytes,
                               struct hs_proc_smaps *ret_smaps);

/* The name without its newline, cut to `comm_bytes` - 1. */
void hs_proc_parse_comm(const char *text, size_t text_bytes, char *ret_comm, size_t comm_bytes);

/* Arguments joined by blanks, control characters as '?', cut to `line_bytes` - 1. */
void hs_proc_join_cmdline(const char *text, size_t text_bytes, char *ret_line, size_t line_bytes);

/* The value of variable `name` in /proc/PID/environ, cut to `value_bytes` - 1. False: not set. */
bool hs_proc_find_env(const char *text, size_t text_bytes, const char *name, char *ret_value,
                      size_t value_bytes);

/* The longest of these files is /proc/PID/maps: 65,530 lines when the kernel's limit is not raised. */
#define HS_PROC_FILE_BYTES_MAX (UINT64_C(64) << 20)

/* Appends all of FOLDER/NAME to `out`; FOLDER is /proc/PID, or stands for it in a test. */
int hs_proc_read_whole(const char *folder, const char *name, struct hs_buf *out);

/* Reads /proc/PID/NAME into `buf`, at most `cap_bytes`. */
int hs_proc_read(pid_t pid, const char *name, char *buf, size_t cap_bytes, size_t *ret_bytes);

int hs_proc_read_stat(pid_t pid, struct hs_proc_stat *ret_stat);
int hs_proc_read_status(pid_t pid, struct hs_proc_status *ret_status);
int hs_proc_read_smaps_rollup(pid_t pid, struct hs_proc_smaps *ret_smaps);
