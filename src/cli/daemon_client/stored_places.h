/*
 * All stored snapshots that the user may see: those of their own, and for root those of all users,
 * in the stores of the user's daemon and of the machine's (session/snapshot_store.h).
 *
 * A snapshot has an id, which is a number in the folder of its user. "system:" in front of it means
 * the store of the machine's daemon, and "UID:" another user: "7", "system:7", "system:1000:7".
 *
 * Threads   main thread only.
 * Fails     -errno.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "session/snapshot_store.h"

#define HS_STORED_ID_BYTES 48

struct hs_stored_place {
    struct hs_stored stored;
    char root[PATH_MAX]; /* the store */
    uid_t uid;
    char id[HS_STORED_ID_BYTES];
};

struct hs_stored_places {
    struct hs_stored_place *items; /* oldest first */
    size_t count, capacity;
};

/* Lists them. 0; -EINVAL: HEAPSCOPE_STATE is not valid; or another -errno. A store that does not
 * exist is empty. */
int hs_stored_places_find(struct hs_stored_places *ret_places);
/* Frees the list. */
void hs_stored_places_deinit(struct hs_stored_places *places);

/* The snapshot of this id, or NULL. */
const struct hs_stored_place *hs_stored_places_get(const struct hs_stored_places *places,
                                                   const char *id);
