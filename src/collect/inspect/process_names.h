/*
 * The names of a process, from /proc. They are needed for a process that ran before its client was
 * loaded (the client is loaded on any thread, and the arguments may have been overwritten), and for
 * forked children, which often take another name or title for their task.
 *
 * Threads   none.
 * Fails     names that cannot be read stay as they are.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "trace/snapshot.h"

struct hs_process_names {
    char comm[16]; /* "": unknown */
    char *cmdline; /* arguments, each with its NUL; NULL: unknown */
    uint32_t cmdline_bytes;
};

/* Reads the names of `pid`. This may be called again: a process that is ending has no arguments any
 * more, and keeps those from before. */
void hs_process_names_read(pid_t pid, struct hs_process_names *names);
/* Frees the names. */
void hs_process_names_deinit(struct hs_process_names *names);

/* Replaces the names in a snapshot by those that are known. */
void hs_process_names_apply(const struct hs_process_names *names, struct hs_snapshot *snap);
