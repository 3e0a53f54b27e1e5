/*
 * Why a process that a session means has no profile. Its dump is empty then, and says so.
 *
 * Threads   plain data.
 * See       docs/FORMAT.md, HsDump
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Numbers of the file format: only added. */
enum hs_refusal {
    HS_REFUSAL_NONE,         /* nothing stands against it */
    HS_REFUSAL_CONCURRENT,   /* another session records it */
    HS_REFUSAL_OTHER_USER,   /* it belongs to somebody else */
    HS_REFUSAL_POLICY,       /* a rule of the daemon's policy */
    HS_REFUSAL_NOT_DUMPABLE, /* it gained rights, or forbade to look into its memory */
    HS_REFUSAL_OPTED_OUT,    /* HEAPSCOPE_PROFILEABLE=0 */
    HS_REFUSAL_NO_CLIENT,    /* none is in it, and none could be brought in */
    HS_REFUSAL_GONE,         /* it had ended */
    HS_REFUSAL_N,
};

/* For people. Two clauses without a subject: "it belongs to user 5"; "ask root", "" when there is no remedy. */
struct hs_refusal_words {
    char what[512];
    char remedy[256];
};
