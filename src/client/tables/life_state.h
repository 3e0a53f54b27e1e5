/*
 * The word that says whether the client records. life/lifecycle.h has the states and their changes.
 *
 * A page that the kernel empties in a forked child (MADV_WIPEONFORK) holds the word that the hot
 * paths read: so a child is not ON after a fork, however it was made, and no handler is needed for
 * that.
 *
 * Threads   any; the thread that takes the state STARTING or FOLLOWING is the one that sets the
 *           next state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/atomic.h"
#include "rt/base.h"

/* States of the client. */
enum hs_life {
    HS_LIFE_NEW,
    HS_LIFE_STARTING,
    HS_LIFE_ON,
    HS_LIFE_WAITING,   /* a forked child that has not begun to record */
    HS_LIFE_FOLLOWING, /* it is beginning */
    HS_LIFE_OFF,
};

/* The word while we are ON. It says at the same time how a free is recorded. */
enum hs_alive {
    HS_ALIVE_PLAIN = 1,
    HS_ALIVE_TIMED, /* lifetimes are measured: see lifetimes.h */
};

/* The state, as the slow paths read it. */
struct hs_life_state {
    /* Points to a word that is not 0 while we are ON (enum hs_alive): it lies on a page of its own,
     * which the kernel empties in a forked child. Before and after, points to a word that is 0. */
    const uint32_t *alive_word;
    uint32_t state; /* enum hs_life */
    /* Births up to this epoch are from before the last fork: see fork_ring.h. 0: no child needs to
     * know. It lies here because each free reads it. */
    uint64_t fork_epoch;
};

/* The state of this process. */
extern HS_HIDDEN struct hs_life_state hs_life_state;

/* Makes the page, once. False: no memory, or the kernel cannot empty it in children. */
bool hs_life_state_init(void);

/* Changes the state if it is `from`. False: it is another one. */
bool hs_life_state_take(enum hs_life from, enum hs_life to);

/* Sets ON, also in hs_life_state.alive_word; all is prepared. */
void hs_life_state_turn_on(void);

/* While we are ON: are lifetimes to be measured? The control page says it: this follows it. */
void hs_life_state_follow_timing(void);

/* No thread that looks from here on records. The state stays: the caller sets it. */
void hs_life_state_pause(void);

/* With the state ON: is this the process that was turned on, and not a child of it? */
bool hs_life_state_is_own(void);

/* Sets a state after which nothing needs to be found. */
static inline void hs_life_state_set(enum hs_life state)
{
    hs_store_relaxed(&hs_life_state.state, state);
}

/* Not on, but may it be on soon? */
static inline bool hs_life_state_is_waiting(void)
{
    uint32_t state = hs_load_relaxed(&hs_life_state.state);
    return state == HS_LIFE_WAITING || state == HS_LIFE_FOLLOWING;
}

/* Are the tables being made or emptied? Then no other thread may write to them. */
static inline bool hs_life_state_is_starting(void)
{
    return hs_load_relaxed(&hs_life_state.state) == HS_LIFE_STARTING;
}

/* --- hot -------------------------------------------------------------------------------------- */

/* Is the client on, as far as this one word says? hs_lifecycle_is_on() does what is due if not. */
static inline bool hs_life_state_is_alive(void)
{
    /* ORDER life: all that start prepared, before the word is set. */
    return hs_load_acquire(hs_load_relaxed(&hs_life_state.alive_word)) != 0;
}

/* Are we ON, and are lifetimes not measured? */
static inline bool hs_life_state_is_plain(void)
{
    /* ORDER life: all that start prepared, before the word is set. */
    return hs_load_acquire(hs_load_relaxed(&hs_life_state.alive_word)) == HS_ALIVE_PLAIN;
}

/* Are we ON, and are lifetimes measured? */
static inline bool hs_life_state_is_timed(void)
{
    /* ORDER life: all that start prepared, before the word is set. */
    return hs_load_acquire(hs_load_relaxed(&hs_life_state.alive_word)) == HS_ALIVE_TIMED;
}
