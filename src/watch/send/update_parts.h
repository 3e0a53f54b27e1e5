/*
 * The part of an update that is about types: the parts of a look that the viewer does not know yet.
 *
 * What the viewer knows is kept as a list of parts, and compared with that of each look, once. What
 * has changed comes in one or several updates, as rows do.
 *
 * Ensures   the stack of a part, and the name of its type, have been sent with it or before.
 * Threads   one.
 * Fails     -ENOMEM.
 * See       watch_update.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctl/ctl.pb-c.h"
#include "trace/snapshot.h"

/* What the viewer knows. Zeroed: nothing. */
struct hs_parts_sent {
    struct hs_snap_part *known; /* as of the last look that was compared; owned */
    size_t known_count;
    struct hs_snap_part *changed; /* what differs in that look, to be sent; owned */
    size_t changed_count, at;     /* those below `at` are sent */
    bool is_wanted;               /* the session does not leave types out; set by the caller */
    bool is_compared;             /* the look whose update is being sent */
    bool *is_type_sent;           /* by type id; owned */
};

/* The messages, and the memory that they refer to. */
struct hs_update_parts {
    Hs__Ctl__WatchedTypes types;
    Hs__Ctl__WatchedParts parts;
    Hs__Ctl__WatchedType *type_items; /* owned, as what follows */
    Hs__Ctl__WatchedType **type_pointers;
    uint32_t *ids;   /* two columns, one behind the other */
    double *figures; /* four */
};

/* Adds at most `parts_max` parts to a message, of a look whose tables these are. *ret_has_rest:
 * there are more. 0, or see Fails. */
int hs_update_parts_fill(struct hs_parts_sent *sent, const struct hs_snapshot *tables,
                         size_t parts_max, struct hs_update_parts *update, Hs__Ctl__Update *message,
                         bool *ret_has_rest);
/* The whole look is sent: the next update is of another one. */
void hs_parts_sent_end_look(struct hs_parts_sent *sent);
void hs_update_parts_deinit(struct hs_update_parts *update);
void hs_parts_sent_deinit(struct hs_parts_sent *sent);
