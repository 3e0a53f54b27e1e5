/*
 * Answers to `list` and `snapshot`: which processes are recorded, and the heap of one of them as it
 * is now.
 *
 * The daemon, `run` and `attach` give the same answers. They differ in which sessions record the
 * processes, and in which users may see them; a struct hs_recorded describes both.
 *
 *     const struct hs_recorded recorded = { .registry = &registry, .session_of = ..., ... };
 *     hs_answer_snapshot(&recorded, sock, request, now);
 *
 *     struct hs_listing *listing = hs_listing_new(&recorded, 1);
 *     Hs__Ctl__Session *session = hs_listing_add_session(listing, "run.123", &settings);
 *     session->dump_count = ...                               the caller fills in the figures
 *     hs_ctl_send(sock, HS_CTL_LISTED, &listing->listed.base, NULL, 0);
 *     hs_listing_free(listing);
 *
 * A snapshot is a trace of its own, in a memfd. It has names from symbol tables if the request asks
 * for them, and no others. The session is not changed by it.
 *
 * Threads   one.
 * Fails     a request that cannot be answered is refused with a message that says why; -errno: the
 *           answer could not be sent.
 */
#pragma once

#include "collect/registry.h"
#include "ctl/ctl.pb-c.h"
#include "session/heaps_message.h"
#include "session/session.h"

/* What stands in place of a session's name for a process that records without one. No session can
 * have this name. */
#define HS_BOUND_SESSION "(bound)"

/* The recorded processes, as one peer may see them. */
struct hs_recorded {
    struct hs_registry *registry;
    /* The name of the session that records a target; NULL: the target is dormant. */
    const char *(*session_of)(const void *ctx, const struct hs_target *target);
    /* May the peer see this process? */
    bool (*may_see)(const void *ctx, const struct hs_target *target);
    const void *ctx;
};

/* Answers a request for the heap of one process, or for the processes that match the request.
 * `now_ns` is CLOCK_MONOTONIC. Returns 0, or -errno if the answer could not be sent. */
int hs_answer_snapshot(const struct hs_recorded *recorded, int sock,
                       const Hs__Ctl__Snapshot *request, uint64_t now_ns);

#define HS_LISTED_WATCHES_MAX 64U

/* The answer to `list`, with the memory that its texts and lists are in. */
struct hs_listing {
    Hs__Ctl__Listed listed;
    const struct hs_recorded *recorded;
    Hs__Ctl__Client *clients;
    Hs__Ctl__Client **client_pointers;
    char (*client_names)[64];
    Hs__Ctl__Session *sessions;
    Hs__Ctl__Session **session_pointers;
    struct hs_heaps_message *heaps; /* by session */
    Hs__Ctl__Watching watches[HS_LISTED_WATCHES_MAX];
    Hs__Ctl__Watching *watch_pointers[HS_LISTED_WATCHES_MAX];
};

/* Makes a listing of the processes that the peer may see, and of what this process itself costs,
 * with room for `session_max` sessions. Returns NULL if there is no memory. */
struct hs_listing *hs_listing_new(const struct hs_recorded *recorded, size_t session_max);
/* Frees the listing. Accepts NULL; returns NULL. */
struct hs_listing *hs_listing_free(struct hs_listing *listing);

/* Adds a session with its settings. The caller fills in what the session has recorded so far. The
 * listing refers to the texts of the caller. */
Hs__Ctl__Session *hs_listing_add_session(struct hs_listing *listing, const char *name,
                                         const struct hs_session_settings *settings);

/* Adds the figures of the session's running processes to the figures in the listing. */
void hs_listing_add_up(const struct hs_listing *listing, Hs__Ctl__Session *session);
