/*
 * How a process ended that is not our child, and whether it was for want of memory.
 *
 * Its status: a zombie tells it in /proc (to whom may trace it), and one that was waited for through its
 * pidfd (PIDFD_GET_INFO, Linux 6.15). A process that the kernel kills for memory dies of SIGKILL like
 * any other; but its cgroup counts such kills (memory.events, or memory.oom_control of version 1), so who dies
 * of SIGKILL while that count rises was one of them.
 *
 * Threads   none.
 * Fails     what cannot be had is unknown: HS_EXIT_UNKNOWN, and no watch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "trace/snapshot.h"

/* Of a process whose end is known. `pidfd` may be -1. */
enum hs_exit_kind hs_exit_cause_find(pid_t pid, int pidfd, int *ret_value);

struct hs_oom_watch {
    char path[512]; /* of the file that counts; "" there is none */
    bool is_known;
    /* Seen a second ago or more: it takes a process a while to die, and meanwhile it looks alive. */
    uint64_t count;
    uint64_t new_count; /* seen since then, */
    uint64_t new_ns;    /* at this time */
};

/* While it runs: finds its cgroup the first time, and looks at the count. */
void hs_oom_watch_look(struct hs_oom_watch *watch, pid_t pid, uint64_t now_ns);

/* Has the count risen since? */
bool hs_oom_watch_has_risen(const struct hs_oom_watch *watch);

/* The parts, over texts: the folder below the mount, and whether it is of version 2. False: not in there. */
bool hs_oom_watch_parse_cgroup(const char *text, bool wants_v2, char *ret_folder,
                               size_t folder_bytes);
uint64_t hs_oom_watch_parse_count(const char *text);
