/*
 * The state that a daemon keeps for the next one: a memfd with a head, and behind it one message, a
 * KeptState (ctl.proto). The fdstore holds the memfd.
 *
 *     head │ jobs, targets │ progress │ target │ dropped │ ...
 *           ◄──────────── one KeptState ──────────────►
 *
 * A change is appended: bytes of a message that follow those of another one add to it. Then the new
 * length is written into the head, so a daemon that is killed while it writes leaves the state from
 * before. When most of a state is out of date, a new memfd takes its place:
 * hs_kept_state_compact().
 *
 * Ensures   the next daemon reads a state of the same version only; a field that it does not know
 *           is skipped.
 * Threads   one.
 * Fails     -errno. -EPROTONOSUPPORT: a state of another version; -EBADMSG: not a state.
 * See       handover_save.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctl/ctl.pb-c.h"

#define HS_KEPT_STATE_VERSION 2U /* version 1: handover_v1.h */

struct hs_kept_state_head {
    uint32_t version;
    uint32_t reserved;
    uint64_t bytes; /* length of the message that follows */
};

struct hs_kept_state {
    int fd; /* -1: nothing is kept */
    uint64_t bytes;
    uint64_t compact_bytes; /* its length when it was compacted last */
};

#define HS_KEPT_STATE_NONE ((struct hs_kept_state){ .fd = -1 })

/* Makes an empty state. Returns 0 or -errno. */
int hs_kept_state_new(struct hs_kept_state *ret_state);
/* Continues the state of a previous daemon. Takes over the descriptor unless it fails. Returns 0 or
 * -errno. */
int hs_kept_state_open(int fd, struct hs_kept_state *ret_state);
/* Accepts HS_KEPT_STATE_NONE. */
void hs_kept_state_close(struct hs_kept_state *state);

/* Adds a change. Returns 0 or -errno; the state is then as it was. */
int hs_kept_state_append(struct hs_kept_state *state, const Hs__Ctl__KeptState *change);

/* Reads what holds: each job, with its progress, and each target once, in the order of their
 * numbers, and no dropped ones. The caller frees it with hs__ctl__kept_state__free_unpacked().
 * Returns 0 or -errno. */
int hs_kept_state_read(const struct hs_kept_state *state, Hs__Ctl__KeptState **ret_kept);

/* Is most of the state out of date? */
bool hs_kept_state_is_stale(const struct hs_kept_state *state);
/* Makes a new state of what holds. Returns 0 or -errno. */
int hs_kept_state_compact(const struct hs_kept_state *state, struct hs_kept_state *ret_compact);
