/*
 * The reasons why a process that matches a session has no profile. Such a process gets an empty
 * dump with the reason.
 *
 * Threads   plain data.
 * See       docs/FORMAT.md, HsDump
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The file format contains these numbers: new ones are only appended. */
enum hs_refusal {
    HS_REFUSAL_NONE,         /* not refused */
    HS_REFUSAL_CONCURRENT,   /* another session records it */
    HS_REFUSAL_OTHER_USER,   /* it belongs to another user */
    HS_REFUSAL_POLICY,       /* a rule of the daemon's access policy forbids it */
    HS_REFUSAL_NOT_DUMPABLE, /* it gained privileges, or it forbids others to read its memory */
    HS_REFUSAL_OPTED_OUT,    /* its environment has HEAPSCOPE_PROFILEABLE=0 */
    HS_REFUSAL_NO_CLIENT,    /* it has no client, and attaching was not possible */
    HS_REFUSAL_GONE,         /* it had already ended */
    HS_REFUSAL_N,
};

/* The reason as text. Both are clauses without a subject: "it belongs to user 5" and "ask root".
 * `remedy` is "" when there is no remedy. */
struct hs_refusal_words {
    char what[512];
    char remedy[256];
};
