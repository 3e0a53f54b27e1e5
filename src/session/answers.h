/*
 * What whoever records processes answers about them: which there are, and the heap of one as it is now.
 *
 * The same for a daemon, for `run` and for `attach`: they differ in whose sessions the processes are in, and in who
 * may know of them, and say so by a struct hs_recorded.
 *
 *     const struct hs_recorded recorded = { .registry = &registry, .session_of = ..., .may_see = ..., .ctx = ... };
 *     hs_answer_snapshot(&recorded, sock, request, now);
 *
 *     struct hs_listing *listing = hs_listing_new(&recorded, 1);
 *     Hs__Ctl__Session *session = hs_listing_add_session(listing, "run.123", &settings);    and its own figures
 *     hs_ctl_send(sock, HS_CTL_LISTED, &listing->listed.base, NULL, 0);
 *     hs_listing_free(listing);
 *
 * A snapshot is a trace of its own in memory, without names; the session goes on as if nothing had happened.
 *
 * Threads   one.
 * Fails     what cannot be answered is refused in words; -errno: not even that could be sent.
 */
#pragma once

#include "collect/registry.h"
#include "ctl/ctl.pb-c.h"
#include "session/session.h"

struct hs_recorded {
    struct hs_registry *registry;
    /* The name of the session that records a target; NULL: none does, it is dormant. */
    const char *(*session_of)(const void *ctx, const struct hs_target *target);
    /* May whoever asks know of this process? */
    bool (*may_see)(const void *ctx, const struct hs_target *target);
    const void *ctx;
};

int hs_answer_snapshot(const struct hs_recorded *recorded, int sock,
                       const Hs__Ctl__Snapshot *request, uint64_t now_ns);

struct hs_listing {
    Hs__Ctl__Listed listed;
    const struct hs_recorded *recorded;
    Hs__Ctl__Client *clients;
    Hs__Ctl__Client **client_pointers;
    char (*client_names)[64];
    Hs__Ctl__Session *sessions;
    Hs__Ctl__Session **session_pointers;
};

/* With this process's own costs and all processes in it. NULL: out of memory. */
struct hs_listing *hs_listing_new(const struct hs_recorded *recorded, size_t session_max);
/* NULL is fine. Returns NULL. */
struct hs_listing *hs_listing_free(struct hs_listing *listing);

/* One more session: its settings are in it, what it recorded so far is the caller's to say. All texts stay the
 * caller's. */
Hs__Ctl__Session *hs_listing_add_session(struct hs_listing *listing, const char *name,
                                         const struct hs_session_settings *settings);

/* What it has in processes that run is added to its figures. */
void hs_listing_add_up(const struct hs_listing *listing, Hs__Ctl__Session *session);
