/*
 * What a daemon leaves when it is killed, and how the next one goes on with it.
 *
 * For each order: its file and folder, and a memfd with its request and how far it has come. For each target: its
 * region and pidfd, under a name that says what only we know of it. Both are given to the store (store.h) when they
 * begin, and taken back when they are over. A target's figures are all in its region, so whatever happens between two
 * daemons is in the next dump. The trace goes on behind what was written last.
 *
 *     hs_heritage_keep_order, _target     they are there, or changed
 *     hs_heritage_drop_order, _target     they are over
 *     hs_heritage_adopt                   at the start, before the first turn
 *
 * Names (decimal numbers):
 *     hs1-listener                        the daemon's socket
 *     hs1-order-NUMBER                    file and folder
 *     hs1-about-NUMBER                    memfd: struct hs_heritage_head, and a KeptOrder of ctl.proto
 *     hs1-target-PID-UID-FLAGS-BYTES-ORDER-BITS-SESSION_START-INTERVAL-RSS_START-SERIAL
 *
 * Holds     an order's file is finished by one process only. A finisher locks the memfd first (as fcntl(2) does: until
 *           it dies), and looks whether another daemon has taken the order over since it was forked; and a
 *           daemon does not take over what is locked.
 * Threads   one.
 * Fails     what cannot be taken over is logged, and let go of: a target goes on unrecorded, a file stays as it is
 *           under its temporary name.
 */
#pragma once

#include "daemon/order.h"
#include "daemon/store.h"

#define HS_HERITAGE_PREFIX    "hs1-"
#define HS_HERITAGE_LISTENER  "hs1-listener"
#define HS_HERITAGE_ORDER     "hs1-order-"
#define HS_HERITAGE_ABOUT     "hs1-about-"

#define HS_HERITAGE_UNDECIDED UINT64_MAX

/* How far an order has come; rewritten with each dump. */
struct hs_heritage_head {
    uint32_t version;
    uint32_t body_bytes; /* of the KeptOrder behind it */
    uint32_t epoch;      /* times it was taken over */
    uint32_t is_over;    /* its file is to be finished */
    struct hs_session_progress progress;
};

struct hs_heritage_target {
    pid_t pid;
    uid_t uid;
    uint32_t hello_flags;
    uint64_t region_bytes;
    uint64_t order_number; /* 0: nobody's; HS_HERITAGE_UNDECIDED: it has just said hello */
    struct hs_target_state state;
};

/* The name of an item; and back. The serial number is there so that no two are alike. */
void hs_heritage_name_target(const struct hs_heritage_target *target, uint64_t serial,
                             char ret_name[HS_STORE_NAME_MAX + 1]);
bool hs_heritage_parse_target(const char *name, struct hs_heritage_target *ret_target);

/* `request`: a packed Start. The order's session has begun. */
void hs_heritage_keep_order(struct hs_daemon *daemon, struct hs_order *order,
                            const uint8_t *request, size_t request_bytes);
/* An order that came from there is kept as it is. */
void hs_heritage_resume_order(struct hs_order *order);
/* It has come further; or it is over. */
void hs_heritage_update_order(struct hs_order *order);
void hs_heritage_drop_order(struct hs_daemon *daemon, struct hs_order *order);

/* In the process that finishes it: may it? */
bool hs_heritage_lock_order(const struct hs_order *order);

/* As hs_registry_guest_fn, at once: what was received before it is kept is lost, if we are killed in between. */
void hs_heritage_keep_guest(void *daemon, const struct hs_guest *guest);

/* As hs_hub_target_fn. */
void hs_heritage_keep_target(void *daemon, struct hs_target *target);
void hs_heritage_drop_target(void *daemon, struct hs_target *target);

/* Takes over what is in `items`, and leaves the rest there. */
void hs_heritage_adopt(struct hs_daemon *daemon, struct hs_store_items *items);

void hs_heritage_deinit(struct hs_daemon *daemon);
