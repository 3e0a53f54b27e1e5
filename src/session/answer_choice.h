/*
 * The recorded process that a request means: by its pid, by a name or glob, or the only one there
 * is.
 *
 * Threads   one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctl/ctl.pb-c.h"
#include "session/answers.h"

#define HS_CANDIDATES_TOLD 20

/* The processes that match a request. Not to be copied: it points into itself. */
struct hs_answer_choice {
    struct hs_target *target; /* the last one that matches */
    const char *session;      /* that records it */
    size_t count;
    bool has_client; /* a process of this pid has a client; it may be dormant */
    Hs__Ctl__Candidate candidates[HS_CANDIDATES_TOLD];
    Hs__Ctl__Candidate *pointers[HS_CANDIDATES_TOLD];
    char processes[HS_CANDIDATES_TOLD][64];
    char process[64]; /* the name of the target */
};

/* Finds the processes that the peer may see, that are recorded, and that match. `pid` 0: of any
 * pid; `name` NULL: of any name. */
void hs_answer_choose(const struct hs_recorded *recorded, uint32_t pid, const char *name,
                      struct hs_answer_choice *ret_choice);

/* Tells a peer whose request does not match exactly one process why. 0, or -errno of sending. */
int hs_answer_refuse_choice(int sock, uint32_t pid, const struct hs_answer_choice *choice);
