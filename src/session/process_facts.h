/*
 * What /proc, or a target's region, says about a process: the facts that match.h wants.
 *
 * Threads   none.
 * Fails     -errno of /proc: the process is gone, or not ours to look at.
 */
#pragma once

#include <sys/types.h>

#include "collect/target.h"
#include "session/match.h"
#include "util/proc.h"

#define HS_FACTS_CMDLINE_BYTES 4096

/* Not to be copied: it points into itself. */
struct hs_process_facts {
    struct hs_match_facts facts; /* its texts are those below */
    char cmdline[HS_FACTS_CMDLINE_BYTES];
    char comm[HS_PROC_COMM_BYTES];
};

/* A running process. One without arguments is a kernel thread, or a zombie. */
int hs_process_facts_read(pid_t pid, struct hs_process_facts *ret_facts);

/* A target; of one that is gone what its region tells. Its user is the one who announced it. */
void hs_process_facts_of_target(const struct hs_target *target, struct hs_process_facts *ret_facts);
