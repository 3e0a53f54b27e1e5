/*
 * Process facts: what match.h needs to know about a process, from /proc or from a target's region.
 *
 * Threads   none.
 * Fails     -errno of /proc: the process is gone, or we may not read about it.
 */
#pragma once

#include <sys/types.h>

#include "collect/target.h"
#include "session/match.h"
#include "util/proc.h"

#define HS_FACTS_CMDLINE_BYTES 4096

/* Do not copy it: it points into itself. */
struct hs_process_facts {
    struct hs_match_facts facts; /* its texts are the arrays below */
    char cmdline[HS_FACTS_CMDLINE_BYTES];
    char comm[HS_PROC_COMM_BYTES];
};

/* Reads the facts about a running process. A process without arguments is a kernel thread or a
 * zombie. Returns 0 or -errno. */
int hs_process_facts_read(pid_t pid, struct hs_process_facts *ret_facts);

/* Reads the facts about a target; from its region, if the process is gone. The uid is that with
 * which the process announced itself. */
void hs_process_facts_of_target(const struct hs_target *target, struct hs_process_facts *ret_facts);
