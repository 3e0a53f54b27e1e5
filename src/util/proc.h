/*
 * Parsers for the text files of /proc/PID, and functions that read these files.
 *
 * The parsers are pure functions on a buffer. The text is foreign input (a process chooses its own
 * comm and cmdline), and other kernels add and remove lines: unknown lines are skipped, and fields
 * of missing lines stay 0.
 *
 * Ensures   every parser reads [text, text + text_bytes) only; no NUL is needed at its end.
 * Threads   pure functions; readers keep no state.
 * Fails     -EINVAL: not of this form. Readers: -ESRCH or -ENOENT when the process is gone, -EFBIG
 *           when the file is too long, -ENOMEM, otherwise -errno. Outputs other than buffers are
 *           then unchanged.
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
    char comm[HS_PROC_COMM_BYTES * 4]; /* cut, NUL-terminated; those of kernel threads are longer */
    char state;                        /* R S D T t Z X ... */
    uint32_t ppid;
    uint32_t pgrp;
    uint32_t session;
    bool is_exiting;       /* it is exiting: its descriptors are closed or about to be closed */
    bool is_kernel_thread; /* it has no memory of its own, and no program */
    uint64_t minor_fault_count, major_fault_count;
    uint64_t child_fault_count;        /* minor faults of children that it waited for */
    uint64_t user_ticks, kernel_ticks; /* CPU time of all its threads */
    uint64_t start_ticks;              /* start, in ticks since boot; sysconf(_SC_CLK_TCK) ticks
                                        * per second */
    uint64_t vsize_bytes;
    uint64_t rss_pages;
    uint64_t stack_start_va; /* stack of the program that it executes; 0 for readers without
                              * permission */
    uint32_t exit_code;      /* of a zombie, in the form of wait(2); 0 for readers without
                              * permission */
};

/* The user or group ids under which a process runs, 32 bits each as in the kernel. */
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
    uint64_t vm_hwm_bytes; /* the highest RSS so far */
    uint64_t vm_rss_bytes;
    uint64_t rss_anon_bytes;
    uint64_t vm_swap_bytes;
    uint64_t vm_pte_bytes; /* page tables */
    uint64_t pending_mask; /* signals pending for the whole process: bit signal - 1 */
    struct hs_proc_ids uid, gid;
    uint64_t cap_permitted_mask, cap_effective_mask; /* bit CAP_x */
    uint32_t seccomp_mode;                           /* 0 none, 1 strict, 2 filtered */
    uint32_t pid_ns_depth; /* number of pid namespaces between ours and its own; 0: it is in ours */
    uint32_t own_pid;      /* its number in its own pid namespace; 0: unknown */
};

/* Parses /proc/PID/stat. Returns 0 or -EINVAL. */
int hs_proc_parse_stat(const char *text, size_t text_bytes, struct hs_proc_stat *ret_stat);
/* Parses /proc/PID/status. Returns 0 or -EINVAL. */
int hs_proc_parse_status(const char *text, size_t text_bytes, struct hs_proc_status *ret_status);

/* Parses /proc/PID/comm: the name without its newline, cut to `comm_bytes` - 1. */
void hs_proc_parse_comm(const char *text, size_t text_bytes, char *ret_comm, size_t comm_bytes);

/*
 * Joins the arguments in /proc/PID/cmdline by blanks. Control characters become '?'; the line is
 * cut to `line_bytes` - 1.
 */
void hs_proc_join_cmdline(const char *text, size_t text_bytes, char *ret_line, size_t line_bytes);

/*
 * Finds the value of variable `name` in /proc/PID/environ, cut to `value_bytes` - 1. False: not
 * set.
 */
bool hs_proc_find_env(const char *text, size_t text_bytes, const char *name, char *ret_value,
                      size_t value_bytes);

/* The longest file is /proc/PID/maps: it has up to 65,530 lines at the kernel's default limit. */
#define HS_PROC_FILE_BYTES_MAX (UINT64_C(64) << 20)

/*
 * Appends all of FOLDER/NAME to `out`. FOLDER is /proc/PID, or a substitute in a test. Returns 0 or
 * -errno.
 */
int hs_proc_read_whole(const char *folder, const char *name, struct hs_buf *out);

/* Reads at most `cap_bytes` bytes of /proc/PID/NAME into `buf`. Returns 0 or -errno. */
int hs_proc_read(pid_t pid, const char *name, char *buf, size_t cap_bytes, size_t *ret_bytes);

/* Reads and parses /proc/PID/stat. Returns 0 or -errno. */
int hs_proc_read_stat(pid_t pid, struct hs_proc_stat *ret_stat);
/* Reads and parses /proc/PID/status. Returns 0 or -errno. */
int hs_proc_read_status(pid_t pid, struct hs_proc_status *ret_status);

/* The CPU time of the processes that this one has started and that have ended. 0: unknown. */
uint64_t hs_proc_children_cpu_ns(void);
