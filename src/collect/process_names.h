/*
 * What a process is called, from /proc: for one that ran before its client, which finds itself on any thread, and
 * its arguments perhaps overwritten; and for forked children, which take another name or title for what they do.
 *
 * Threads   none.
 * Fails     names that cannot be had stay as they are.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "trace/snapshot.h"

struct hs_process_names {
    char comm[16]; /* "" unknown */
    char *cmdline; /* arguments, each with its NUL; NULL unknown */
    uint32_t cmdline_bytes;
};

/* May be called again: a process that is ending has no arguments any more, and keeps those of before. */
void hs_process_names_read(pid_t pid, struct hs_process_names *names);
void hs_process_names_deinit(struct hs_process_names *names);

/* Puts them into a snapshot. */
void hs_process_names_apply(const struct hs_process_names *names, struct hs_snapshot *snap);
