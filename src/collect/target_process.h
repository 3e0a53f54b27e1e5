/*
 * The process of a target: its ids and names, what /proc shows of it while it lives, and how it
 * ended.
 *
 * RSS can be read only from /proc. It is read often at first, because many processes live for
 * milliseconds, and then more and more rarely; the kernel's high-water mark covers the time in
 * between. The names are needed for a process that ran before its client was loaded: another thread
 * than the main one may load the client, and comm is then the name of that thread; the arguments
 * may have been overwritten. They are needed for forked children, too, which often take another
 * name or title for their task.
 *
 * Ensures   what is known stays known when the process has ended.
 * Threads   one.
 * Fails     what cannot be read stays as it was.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/inspect/exit_cause.h"
#include "collect/listen.h"
#include "inject/remote/library_watch.h"
#include "trace/snapshot.h"

struct hs_process_names {
    char comm[16]; /* "": unknown */
    char *cmdline; /* arguments, each with its NUL; NULL: unknown */
    uint32_t cmdline_bytes;
};

struct hs_target_process {
    pid_t pid; /* in heapscope's PID namespace; 0: unknown */
    int pidfd; /* readable when the process has ended; -1: none */
    uid_t uid; /* its user when it announced itself */
    uint32_t hello_flags;
    struct hs_process_names names; /* if it ran before its client was loaded, or was forked */
    bool has_ended;
    enum hs_exit_kind exit_kind;
    int exit_value;
    uint64_t end_ns;   /* CLOCK_MONOTONIC; when the collector learned of the end */
    bool has_executed; /* it has executed another program, as far as /proc tells */
    /* The same for a process whose programs announce themselves: the program that it executed has
     * not done so yet. It never does if it is statically linked, for example. */
    bool has_silent_program;
    /* start of the program's stack; when that changes, the process has executed another program; 0:
     * unknown */
    uint64_t stack_start_va;
    uint64_t rss_bytes;
    uint64_t rss_peak_bytes;
    struct hs_oom_watch oom;
    uint64_t look_next_ns; /* when to read /proc again */
    uint64_t look_period_ns;
    uint64_t look_period_max_ns;
    /* For an attached process: watches for libraries that it loads otherwise than by its own
     * dlopen. */
    struct hs_library_watch libraries;
    uint64_t libraries_next_ns;
    uint64_t libraries_period_ns; /* longer where libraries are loaded and unloaded all the time */
    /* `libraries` has found new ones; the owner resets this when it has redirected their calls */
    bool has_new_libraries;
};

/* Takes over the pending client's pidfd. */
void hs_target_process_init(struct hs_target_process *process,
                            const struct hs_pending_client *pending);
/* Closes the pidfd, and frees the names. */
void hs_target_process_deinit(struct hs_target_process *process);

/* Did the process start after this moment (CLOCK_BOOTTIME)? Then it is another one under the same
 * pid. False if that cannot be told. */
bool hs_target_process_started_after(const struct hs_target_process *process,
                                     uint64_t start_boot_ns);

/* Reads its names. This may be called again: a process that is ending has no arguments any more,
 * and keeps those from before. */
void hs_target_process_read_names(struct hs_target_process *process);
/* For a process that has just announced itself: has it executed another program in the meantime?
 * `exe` and `comm` are those of the program that announced itself, as that program saw them. */
void hs_target_process_check_exe(struct hs_target_process *process, const char *exe,
                                 const char *comm);
/* Replaces the names in a snapshot by those that are known. */
void hs_target_process_name_snapshot(const struct hs_target_process *process,
                                     struct hs_snapshot *snap);

/* Reads /proc if that is due. `is_forked`: its names may change. `is_dormant`: its libraries do not
 * matter now. */
void hs_target_process_look(struct hs_target_process *process, bool is_forked, bool is_dormant,
                            uint64_t now_ns);

/* The image is gone: its process has ended, or has executed another program. A second call is
 * ignored. */
void hs_target_process_end(struct hs_target_process *process, uint64_t now_ns,
                           enum hs_exit_kind exit_kind, int exit_value);

/* Does its process run the program that announced itself, so that its memory is that program's? */
static inline bool hs_target_process_has_memory(const struct hs_target_process *process)
{
    return process->pid > 0 && !process->has_executed && !process->has_silent_program;
}

/* Was it killed because memory ran out? */
bool hs_target_process_is_oom_killed(const struct hs_target_process *process);
