/*
 * The hub: who is recorded by whom, and when dumps are taken. The registry's images on one side, sessions
 * on the other; embedded by a daemon, and by any command that profiles processes it did not start.
 *
 *     image begins ──► of a forked child: its parent's session
 *                      meant by sessions: the oldest one gets it, the others an empty dump (rejected)
 *                      else: told to record nothing
 *     image ends ────► its last dump; when it was attached to and executed another program, that one is attached to
 *                      as if the session had just begun
 *     program starts ► without a client, and meant by name: the owner is asked to bring one in
 *     session starts ► the running processes that it means: those with a client at once, for the others the
 *                      owner is asked to bring one in
 *     session ends ──► a last dump of each of its processes, which go on dormant
 *
 *     struct hs_hub *hub;
 *     hs_hub_new(&config, &hub);
 *     hs_session_new(&settings, sink, ctx, now, &session);
 *     hs_hub_start(hub, session, now, say, ctx);
 *     for (;;) { until = hs_hub_turn(hub, now); poll hs_hub_fd(hub) until then }
 *     hs_hub_stop(hub, session, now);               config.on_over has been called: hs_session_finish()
 *     hs_hub_free(hub);
 *
 * Holds     a process has at most one session, that with which it began; a session has only processes that
 *           the judge lets it have, and what it means and may not have is told in its trace. A target's `owner` is
 *           its session.
 * Threads   one; never waits.
 * Fails     a process that cannot be read is left out and counted; a session whose trace cannot be written
 *           is over.
 * See       session.h, collect/registry.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/registry.h"
#include "session/session.h"

/* What became of a process that a session means. */
enum hs_hub_answer {
    HS_HUB_RECORDED,    /* from now on, or since its start */
    HS_HUB_ATTACHING,   /* soon: it has no client yet, or one that is to begin anew */
    HS_HUB_REJECTED,    /* another session records it */
    HS_HUB_NO_CLIENT,   /* it has none, and none could be brought in */
    HS_HUB_NOT_ALLOWED, /* it may not have it: of another user, against a policy, against its wish */
    HS_HUB_GONE,        /* there is no such process */
    HS_HUB_ANSWER_N,
};

struct hs_hub_verdict {
    const struct hs_process_facts *process; /* of HS_HUB_GONE only its pid is known */
    enum hs_hub_answer answer;
    const struct hs_session *holder;      /* of HS_HUB_REJECTED: who has it */
    bool is_named;                        /* the session names it by pid */
    const struct hs_refusal_words *words; /* why it is not recorded; NULL: it is, or nobody knows */
};

typedef void hs_hub_say_fn(void *ctx, const struct hs_hub_verdict *verdict);

/* All is written but hs_session_finish(). The session is the callee's now, and no longer the hub's. */
typedef void hs_hub_over_fn(void *ctx, struct hs_session *session);

/* A running process that a session means has no client. 0: one is brought in, and the process will be
 * adopted, or announce itself; then it belongs to this session. Else -errno. */
typedef int hs_hub_attach_fn(void *ctx, struct hs_session *session,
                             const struct hs_process_facts *process);

/* May a session have a process? `target` is NULL for one that would be attached to. HS_REFUSAL_NONE: yes; else why
 * not, with words. */
typedef enum hs_refusal hs_hub_authorize_fn(void *ctx, const struct hs_session *session,
                                            const struct hs_process_facts *process,
                                            struct hs_target *target,
                                            struct hs_refusal_words *ret_words);

/* A process whose client was brought in is recorded no longer: the client may go. 0: it is going to, and the hub
 * forgets the process. Else -errno: it stays, dormant. */
typedef int hs_hub_release_fn(void *ctx, struct hs_session *session, pid_t pid);

/* A process whose client was brought in has loaded libraries: their calls are to be led to the client. 0: they are, or
 * will be. Else -errno: to be asked for again. */
typedef int hs_hub_refresh_fn(void *ctx, struct hs_session *session, pid_t pid);

/* A target is new, or is somebody else's now; or it is about to be closed. For whoever must know what there is when
 * the hub is gone. */
typedef void hs_hub_target_fn(void *ctx, struct hs_target *target);

struct hs_hub_config {
    struct hs_listener listener;  /* taken over; its fd -1: processes are only adopted */
    hs_registry_peer_fn *on_peer; /* connections with other business; NULL: none has */
    hs_hub_over_fn *on_over;
    hs_hub_attach_fn *attach;              /* NULL: nobody can */
    hs_hub_release_fn *release;            /* NULL: nobody is let go of */
    hs_hub_refresh_fn *refresh;            /* NULL: such libraries are not seen */
    hs_hub_say_fn *say_new_process;        /* of processes that start later; NULL: nobody listens */
    hs_registry_pending_fn *on_pending;    /* NULL: nobody wants to know of hellos */
    hs_hub_target_fn *on_change, *on_gone; /* NULL: nobody wants to know */
    hs_hub_authorize_fn *judge;            /* NULL: a process's user decides alone */
    bool is_hiding_others; /* processes of other users are as if they were not there */
    void *ctx;
};

struct hs_hub_heir;
struct hs_process_watch;

struct hs_hub {
    struct hs_hub_config config;
    struct hs_registry registry;
    struct hs_session **sessions; /* running, oldest first */
    size_t session_count, session_capacity;
    uint64_t look_ns;               /* when to look at recorded processes again */
    struct hs_process_watch *watch; /* NULL: no session waits for such */
    uint64_t unreadable_count;      /* processes left out because they could not be read */
    const struct hs_hub_heir *heir; /* being adopted just now; NULL: whoever comes is new */
};

int hs_hub_new(const struct hs_hub_config *config, struct hs_hub **ret_hub);
/* Sessions must be over. NULL is fine. Returns NULL. */
struct hs_hub *hs_hub_free(struct hs_hub *hub);

/* Readable when there is something to do. */
static inline int hs_hub_fd(const struct hs_hub *hub)
{
    return hs_registry_fd(&hub->registry);
}

/* Has it no descriptors for those who come? They wait until others are gone. */
static inline bool hs_hub_is_deaf(const struct hs_hub *hub)
{
    return hub->registry.listener.fd >= 0 && !hub->registry.is_listening;
}

/* Does what there is to do, without waiting; returns when to come back at the latest (CLOCK_MONOTONIC;
 * UINT64_MAX: when there is news). */
uint64_t hs_hub_turn(struct hs_hub *hub, uint64_t now_ns);

/* Takes over the session, and tells of each running process that it means; `say` may be NULL. -ENOMEM. */
int hs_hub_start(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns,
                 hs_hub_say_fn *say, void *say_ctx);

/* Ends it. config.on_over is called before this returns. */
void hs_hub_stop(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns);

/* A process whose region came otherwise than by a hello: as hs_registry_restore(). */
int hs_hub_restore_target(struct hs_hub *hub, struct hs_pending_client *pending, uint64_t now_ns);

/* A target and a session of a hub that is gone: each is what it was. `session` NULL: nobody's. */
int hs_hub_inherit_target(struct hs_hub *hub, struct hs_pending_client *pending,
                          struct hs_session *session, const struct hs_target_state *state,
                          uint64_t now_ns);
int hs_hub_inherit_session(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns);
/* When all targets are there: what was about to get a client when the hub before went is asked for again. */
void hs_hub_inherit_done(struct hs_hub *hub, uint64_t now_ns);
/* Sessions that wait for its client are told why there will be none: "what is in the way; what to do". `is_held`:
 * another collector records it. Before hs_hub_give_up(). */
void hs_hub_refuse(struct hs_hub *hub, pid_t pid, bool is_held, const char *why, uint64_t now_ns);

/* The judge may have changed his mind: processes that are not their sessions' any more have their last dump. */
void hs_hub_review(struct hs_hub *hub, uint64_t now_ns);

/* It is not going to get a client after all. */
void hs_hub_give_up(struct hs_hub *hub, pid_t pid);

/* A dump of each process of a session, and of each recorded process. */
void hs_hub_dump_session(struct hs_hub *hub, const struct hs_session *session, uint64_t now_ns);
void hs_hub_dump_all(struct hs_hub *hub, uint64_t now_ns);

/* The session that records it, or NULL. */
static inline struct hs_session *hs_hub_session_of(const struct hs_target *target)
{
    return target->owner;
}

/* Running processes that this session records. */
size_t hs_hub_target_count(const struct hs_hub *hub, const struct hs_session *session);

/* The smallest interval of all sessions that wait for programs to start; 0: none does. */
uint64_t hs_hub_startup_interval(const struct hs_hub *hub);
