/*
 * How a process ended that is not a child of this process, and whether it ran out of memory.
 *
 * Its exit status: a zombie shows it in /proc (to processes that may trace it), and after it was
 * waited for, its pidfd does (PIDFD_GET_INFO, Linux 6.15). A process that the kernel kills for lack
 * of memory dies of SIGKILL like any other. But its cgroup counts such kills (memory.events, or
 * memory.oom_control of version 1), so a process that dies of SIGKILL while that count rises was
 * one of them.
 *
 * Threads   none.
 * Fails     what cannot be found is unknown: HS_EXIT_UNKNOWN, and no watch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/snapshot.h"

/* Finds how a process that has ended ended; *ret_value is its exit status or signal. `pidfd` may be
 * -1. */
enum hs_exit_kind hs_exit_cause_find(pid_t pid, int pidfd, int *ret_value);

struct hs_oom_watch {
    char path[512]; /* path of the file with the count; "": there is none */
    bool is_known;
    /* The count of a second ago or earlier: a process takes a while to die, and looks alive
     * meanwhile. */
    uint64_t count;
    uint64_t new_count; /* a later count */
    uint64_t new_ns;    /* when it was read */
};

/* Reads the count while the process runs. The first call finds the process's cgroup. */
void hs_oom_watch_look(struct hs_oom_watch *watch, pid_t pid, uint64_t now_ns);

/* Has the count risen since `count` was read? */
bool hs_oom_watch_has_risen(const struct hs_oom_watch *watch);

/* The parts of it, over texts. This one finds the directory below the cgroup mount in
 * /proc/PID/cgroup, of version 2 or of version 1. False: it is not in the text. */
bool hs_oom_watch_parse_cgroup(const char *text, bool wants_v2, char *ret_folder,
                               size_t folder_bytes);
/* This one reads the count of kills. 0: it is not in the text. */
uint64_t hs_oom_watch_parse_count(const char *text);
