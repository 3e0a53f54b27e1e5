/*
 * The hub decides which session records which process, and when dumps are taken. It connects the
 * program images of the registry (an image is what one execve made of a process) with the running
 * sessions. Its owner is the program that contains it: the daemon, and every command that records
 * without the daemon: run (through program_run.h), attach and record.
 *
 *     image begins ──► a forked child is recorded by its parent's session. Any other process is
 *                      recorded by the oldest session that it matches, and each other session that
 *                      it matches gets an empty dump that says so (rejected). If it matches no
 *                      session, nothing is recorded, unless the process is bound: it then records
 *                      without a session, and snapshots of it can be taken.
 *     image ends ────► its last dump is taken. If the hub had attached to the process, and the
 *                      process has executed another program, the hub attaches to that program as
 *                      if the session had just begun.
 *     program starts ► if it has no client and matches a session by name, the hub asks its owner
 *                      (config.attach) to attach to it.
 *     session starts ► it records the running processes that match it: those with a client at once
 *                      or, if an earlier session recorded them, as soon as the client has made a
 *                      new region; those that another session records are rejected; the hub asks
 *                      its owner to attach to the others.
 *     process asks ──► a snapshot of it is taken at once, under the name that it gives
 *                      (hub_named.c).
 *     session ends ──► the last dump of each of its processes is taken; the processes continue
 *                      dormant, or record without a session if they are bound, except those from
 *                      which the owner detaches (config.release): the hub forgets these.
 *
 *     struct hs_hub *hub;
 *     hs_hub_new(&config, &hub);
 *     hs_session_new(&settings, sink, ctx, now, &session);
 *     hs_hub_start(hub, session, now, say, ctx);
 *     for (;;) { until = hs_hub_turn(hub, now); poll hs_hub_fd(hub) until then }
 *     hs_hub_stop(hub, session, now);     calls config.on_over, whose callee owns the session from
 *                                         then on, and must call hs_session_finish()
 *     hs_hub_free(hub);
 *
 * Holds     a region has the data of at most one session: when a second session begins on a
 *           process, the client makes another region. `session.owner` of a target points to the
 *           session that records it. A session records only processes for which config.authorize
 *           returns HS_REFUSAL_NONE. A process that matches a session and is not allowed appears in
 *           the session's trace with the reason, except where hs_hub_is_silent() says otherwise.
 * Threads   one; the hub never waits.
 * Fails     a process that cannot be read is left out and counted; a session ends when its trace
 *           cannot be written.
 * See       session.h, collect/registry.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/registry.h"
#include "session/session.h"

/* What the hub did with a process that matches a session. */
enum hs_hub_answer {
    HS_HUB_RECORDED,    /* it is recorded from now on, or since its start */
    HS_HUB_ATTACHING,   /* it will be: heapscope attaches to it, or its client makes a new region */
    HS_HUB_REJECTED,    /* another session records it */
    HS_HUB_NO_CLIENT,   /* it has no client, and attaching failed or is not possible */
    HS_HUB_NOT_ALLOWED, /* another user's, forbidden by a policy, or it has opted out */
    HS_HUB_GONE,        /* there is no such process */
    HS_HUB_ANSWER_N,
};

struct hs_hub_verdict {
    const struct hs_process_facts *process; /* with HS_HUB_GONE only the pid is known */
    enum hs_hub_answer answer;
    const struct hs_session *holder;      /* with HS_HUB_REJECTED: the session that records it */
    bool is_named;                        /* the session names it by pid */
    const struct hs_refusal_words *words; /* why it is not recorded; NULL: recorded, or unknown */
};

/* Reports what the hub did with one process. */
typedef void hs_hub_say_fn(void *ctx, const struct hs_hub_verdict *verdict);

/* The session is over, and its trace is complete except for hs_session_finish(). The callee owns
 * the session from now on; the hub has forgotten it. */
typedef void hs_hub_over_fn(void *ctx, struct hs_session *session);

/* Asks the owner to attach to a running process that matches a session and has no client. Returns 0
 * if attaching has begun: the process then comes through hs_hub_take_client() or announces itself,
 * and is recorded by this session. Otherwise returns -errno. */
typedef int hs_hub_attach_fn(void *ctx, struct hs_session *session,
                             const struct hs_process_facts *process);

/* May a session record a process? `target` is NULL if the process would be attached to. Returns
 * HS_REFUSAL_NONE if it may, otherwise the reason, with a text for the user in *ret_words. */
typedef enum hs_refusal hs_hub_authorize_fn(void *ctx, const struct hs_session *session,
                                            const struct hs_process_facts *process,
                                            struct hs_target *target,
                                            struct hs_refusal_words *ret_words);

/* May a bound process record without a session? Otherwise it is switched off. */
typedef bool hs_hub_may_bind_fn(void *ctx, const struct hs_process_facts *process,
                                struct hs_target *target);

/* A process to which the owner attached is no longer recorded, so its client can be detached.
 * Returns 0 if that happens: the hub then forgets the process. Otherwise returns -errno: the client
 * stays, dormant. */
typedef int hs_hub_release_fn(void *ctx, struct hs_session *session, pid_t pid);

/* A process to which the owner attached has loaded libraries, whose calls must be redirected to the
 * client. Returns 0 if they are, or will be. Otherwise returns -errno, and the hub asks again. */
typedef int hs_hub_refresh_fn(void *ctx, struct hs_session *session, pid_t pid);

/* Called when the image of a target has ended. If it returns true, the last dump is not taken until
 * the owner calls hs_hub_finish_target(); otherwise the last dump is taken at once. */
typedef bool hs_hub_keep_back_fn(void *ctx, struct hs_target *target);

/* The hub has looked at a recorded process, whose names may have changed. */
typedef void hs_hub_look_fn(void *ctx, const struct hs_target *target);

/* Called when a target is new or has another session (on_change), and before a target is closed
 * (on_gone). An owner needs these calls if another process must find all targets after this one was
 * killed. */
typedef void hs_hub_target_fn(void *ctx, struct hs_target *target);

/* A snapshot of a target that its owner may keep beside the session's trace: one that the process
 * asked for, or the last one of a process that a signal killed. Its name is set. */
typedef void hs_hub_keep_fn(void *ctx, struct hs_target *target, const struct hs_snapshot *snap);
/* The cut of a snapshot that a process has asked for is open, and `fd` is what is needed to read it
 * if this process is killed meanwhile (collect/region/open_cut.h); the owner keeps a copy. -1: it
 * has been read. */
typedef void hs_hub_cut_fn(void *ctx, const struct hs_target *target, int fd);
/* Can the owner keep a snapshot of this target now? False: the process gets -EAGAIN. */
typedef bool hs_hub_can_keep_fn(void *ctx, const struct hs_target *target);

struct hs_hub_config {
    struct hs_listener listener;  /* the hub takes it over; fd -1: targets come only through
                                  * hs_hub_take_client() */
    hs_registry_peer_fn *on_peer; /* takes over connections that are not a client's; NULL: such
                                   * connections are rejected */
    hs_hub_over_fn *on_over;
    hs_hub_attach_fn *attach;              /* NULL: the owner cannot attach */
    hs_hub_release_fn *release;            /* NULL: clients stay, dormant */
    hs_hub_refresh_fn *refresh;            /* NULL: calls of such libraries are not recorded */
    hs_hub_say_fn *say_new_process;        /* for processes that start later; NULL: no reports */
    hs_registry_pending_fn *on_pending;    /* called for each hello; NULL: no calls */
    hs_registry_waiting_fn *on_waiting;    /* as in hs_registry_config */
    hs_hub_keep_back_fn *keep_back;        /* NULL: no target is kept back */
    hs_hub_look_fn *on_look;               /* NULL: no calls */
    hs_hub_target_fn *on_change, *on_gone; /* NULL: no calls */
    hs_hub_keep_fn *on_keep;               /* NULL: no calls */
    hs_hub_can_keep_fn *can_keep;          /* NULL: always */
    hs_hub_cut_fn *on_cut;                 /* NULL: no calls */
    hs_hub_may_bind_fn *may_bind;          /* NULL: no process may */
    hs_hub_authorize_fn *authorize;        /* NULL: only the user of the process is checked */
    bool is_hiding_others; /* processes of other users are treated as if they did not exist */
    bool is_taking_hidden; /* as in hs_registry_config */
    void *ctx;
};

struct hs_hub_inherited;
struct hs_process_watch;

struct hs_hub {
    struct hs_hub_config config;
    struct hs_registry registry;
    struct hs_session **sessions; /* running, oldest first */
    size_t session_count, session_capacity;
    uint64_t look_ns; /* when to look at recorded processes again */
    struct hs_ledger_allowance ledger_allowance;
    struct hs_process_watch *watch; /* NULL: no session waits for programs without a client */
    uint64_t unreadable_count;      /* processes left out because they could not be read */
    const char *unreadable_why;     /* why the last of them could not be read, a constant text */
    /* the target that is being restored; NULL: targets are new */
    const struct hs_hub_inherited *inherited;
};

/* Makes a hub without sessions. Returns 0 or -errno. */
int hs_hub_new(const struct hs_hub_config *config, struct hs_hub **ret_hub);
/* Frees the hub; all sessions must be over. Accepts NULL; returns NULL. */
struct hs_hub *hs_hub_free(struct hs_hub *hub);

/* A descriptor that is readable when hs_hub_turn() has something to do. */
static inline int hs_hub_fd(const struct hs_hub *hub)
{
    return hs_registry_fd(&hub->registry);
}

/* Returns whether the hub has no descriptors left for new connections, which then wait until other
 * processes end. */
static inline bool hs_hub_is_out_of_fds(const struct hs_hub *hub)
{
    return hub->registry.listener.fd >= 0 && !hub->registry.is_listening;
}

/* Does everything that is due, without waiting. Returns when to call it again at the latest
 * (CLOCK_MONOTONIC; UINT64_MAX: not before hs_hub_fd() is readable). */
uint64_t hs_hub_turn(struct hs_hub *hub, uint64_t now_ns);

/* Takes over the session, and calls `say`, which may be NULL, for each running process that matches
 * it. Returns 0 or -ENOMEM. */
int hs_hub_start(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns,
                 hs_hub_say_fn *say, void *say_ctx);

/* Ends the session. Calls config.on_over before it returns. */
void hs_hub_stop(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns);

/* Adds a process whose region was not received in a hello. Returns as hs_registry_take() does. */
int hs_hub_take_client(struct hs_hub *hub, struct hs_pending_client *pending, uint64_t now_ns);

/* Takes a target from a hub whose process was killed; it continues in its old state. `session` is
 * NULL if no session recorded the target. Returns 0 or -errno. */
int hs_hub_inherit_target(struct hs_hub *hub, struct hs_pending_client *pending,
                          struct hs_session *session, const struct hs_target_state *state,
                          uint64_t now_ns);
/* Takes a session from such a hub, before its targets. Returns 0 or -ENOMEM. */
int hs_hub_inherit_session(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns);
/* Call it after the last hs_hub_inherit_target(). Asks the owner once more to attach where
 * attaching had begun when the previous hub's process was killed. */
void hs_hub_inherit_done(struct hs_hub *hub, uint64_t now_ns);
/* Records, in the trace of each session that waits for this process, why heapscope cannot attach to
 * it. `why` has the form "reason; remedy". `is_held`: another collector records it. Call it
 * before hs_hub_give_up(). */
void hs_hub_refuse(struct hs_hub *hub, pid_t pid, bool is_held, const char *why, uint64_t now_ns);

/* Call it when config.authorize may answer otherwise than before. Processes that their sessions may
 * no longer record have a last dump. */
void hs_hub_review(struct hs_hub *hub, uint64_t now_ns);

/* Ends the waiting of all sessions for this process, to which heapscope cannot attach. */
void hs_hub_give_up(struct hs_hub *hub, pid_t pid);

/* Takes the last dump of a target that config.keep_back kept back, and closes it. */
void hs_hub_finish_target(struct hs_hub *hub, struct hs_target *target);

/* Takes the last dump of each running process and forgets the process, which frees its descriptors;
 * the process continues dormant. Returns how many processes there were. For a hub without
 * config.release, which would drop targets itself. */
size_t hs_hub_leave_running(struct hs_hub *hub);

/* Takes a dump of each process of a session. */
void hs_hub_dump_session(struct hs_hub *hub, const struct hs_session *session, uint64_t now_ns);
/* Takes a dump of each recorded process. */
void hs_hub_dump_all(struct hs_hub *hub, uint64_t now_ns);

/* Reads the cut that on_cut has got from a hub whose process was killed, and hands the snapshot on
 * as if the process had just asked for it. *ret_name is the name of the snapshot. 0, or -errno as
 * hs_capture_saved(). Call it before the first turn. */
int hs_hub_take_saved_cut(struct hs_hub *hub, struct hs_target *target, int fd,
                          char ret_name[HS_NAMED_SNAPSHOT_NAME_MAX + 1]);

/* The session that records the target, or NULL. */
static inline struct hs_session *hs_hub_session_of(const struct hs_target *target)
{
    return target->session.owner;
}

/* How many running processes the session records. */
size_t hs_hub_target_count(const struct hs_hub *hub, const struct hs_session *session);

/* How programs that start record, until it is known which session gets them. */
struct hs_startup {
    uint64_t
        interval_bytes; /* the smallest of all sessions that wait for programs; 0: none waits */
    /* Which heaps, as text of HS_ENV_HEAPS, if these sessions agree; otherwise "": all. */
    char heaps[HS_CTL_HEAPS_BYTES];
};

/* `beginning`: a session that the hub does not have yet; NULL: none. */
void hs_hub_find_startup(const struct hs_hub *hub, const struct hs_session *beginning,
                         struct hs_startup *ret_startup);
