/*
 * Inside the hub: which session gets which process, and the functions that the hub's files share.
 * See hub.h.
 *
 * Threads   as the hub.
 * Fails     as the hub, where nothing else is said.
 */
#pragma once

#include "session/hub.h"

struct hs_named_request;

/* A program image has begun, and may have ended already: finds a session for it. */
void hs_hub_welcome(struct hs_hub *hub, struct hs_target *target);

/* hub_inherit.c: as hs_hub_welcome(), for an image of the previous hub; hub->inherited says what
 * its state was. */
void hs_hub_resume(struct hs_hub *hub, struct hs_target *target);

/* Makes the session the owner of the target, which it records from now on. */
void hs_hub_own(struct hs_target *target, struct hs_session *session);

/* Begins to record the target for this session. Returns HS_HUB_RECORDED, or HS_HUB_ATTACHING: its
 * region belongs to an earlier session, and its client makes another one. */
enum hs_hub_answer hs_hub_give(struct hs_target *target, struct hs_session *session,
                               uint64_t now_ns);
/* Writes into the session's trace that `holder` records this process. */
void hs_hub_reject(struct hs_session *session, const struct hs_session *holder,
                   const struct hs_process_facts *facts, uint64_t now_ns);
/* Was the target forked from a process of this session? *ret_is_late: from one that was not
 * recorded from its start. */
bool hs_hub_is_forked_for(const struct hs_session *session, const struct hs_target *target,
                          bool *ret_is_late);

/* hub_running.c: gives a session that starts the running processes that match it. */
void hs_hub_take_running(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns,
                         hs_hub_say_fn *say, void *say_ctx);

/* Gives a running process to the session if it matches: takes its target, or attaches to it. */
void hs_hub_take_pid(struct hs_hub *hub, struct hs_session *session, pid_t pid, uint64_t now_ns);
/* Gives the session a process that has just started or taken another name, if it matches. */
void hs_hub_take_new_process(struct hs_hub *hub, struct hs_session *session, pid_t pid);
/* The process has executed another program: ends its image, and gives the new program to the
 * session if it matches. */
void hs_hub_follow(struct hs_hub *hub, struct hs_target *target, uint64_t now_ns);

/* hub_children.c: takes the children of recorded processes, for sessions that ask for children.
 * Returns whether it looked at any process. */
bool hs_hub_take_children(struct hs_hub *hub, uint64_t now_ns);

/* hub_process_watch.c: begins to watch for programs that start, if this session waits for programs
 * without a client. Returns 0 or -ENOMEM. */
int hs_hub_begin_new_processes(struct hs_hub *hub, const struct hs_session *session,
                               uint64_t now_ns);
/* Looks for new processes. Returns when to call it again (CLOCK_MONOTONIC; UINT64_MAX: no session
 * waits). */
uint64_t hs_hub_look_for_new_processes(struct hs_hub *hub, uint64_t now_ns);

/* hub_authorize.c: may this session record the process? `target` NULL: it would be attached to.
 * Returns as hs_hub_authorize_fn does. */
enum hs_refusal hs_hub_authorize(const struct hs_hub *hub, const struct hs_session *session,
                                 const struct hs_process_facts *facts, struct hs_target *target,
                                 struct hs_refusal_words *ret_words);
/* Is this refusal left out of the trace? This concerns only processes of other users. A session
 * reports one only if it is for all processes or names the pid; with config.is_hiding_others no
 * session reports one. */
bool hs_hub_is_silent(const struct hs_hub *hub, const struct hs_session *session,
                      enum hs_refusal refusal, pid_t pid);
/* May the session record this process, which matches it? If not, writes the refusal into its trace,
 * unless hs_hub_is_silent(). */
bool hs_hub_may_have(const struct hs_hub *hub, struct hs_session *session,
                     const struct hs_process_facts *facts, struct hs_target *target,
                     uint64_t now_ns);
/* Switches off a bound process that may not record without a session, unless it has one. */
void hs_hub_check_bound(const struct hs_hub *hub, struct hs_target *target);
/* The text for a process to which heapscope could not attach. `error` is the -errno of
 * hs_hub_config.attach; -EINTR: the recording is about to end. */
void hs_hub_word_attaching(int error, struct hs_refusal_words *ret_words);

/* hub_named.c: a process asks for a snapshot of itself. ctx is the hub; `target` may be NULL, as in
 * hs_registry_named_fn. */
void hs_hub_on_named(void *ctx, struct hs_target *target, const struct hs_named_request *request);
/* The same for a bound process that has ended, and that no session records: its last state is kept
 * if a signal killed it. */
void hs_hub_keep_bound(const struct hs_hub *hub, struct hs_target *target);
/* Hands a snapshot with a name to the owner. */
void hs_hub_keep(const struct hs_hub *hub, struct hs_target *target,
                 const struct hs_snapshot *snap);
/* The same for the last snapshot of a process, if a signal killed it; names the snapshot. */
void hs_hub_keep_killed(const struct hs_hub *hub, struct hs_target *target,
                        struct hs_snapshot *snap);

/* Opens the files of the target's process that names come from and that are not open yet, if its
 * session looks names up: target_files.h. */
void hs_hub_hold_files(struct hs_target *target, bool is_for_dump, uint64_t now_ns);
/* hub_counters.c, of a target that has a session. Reads its counters when they are due, and returns
 * when to call again (CLOCK_MONOTONIC; UINT64_MAX: never). */
uint64_t hs_hub_look_at_counters(struct hs_target *target, uint64_t now_ns);
/* As hs_sources_dump(). */
void hs_hub_dump_counters(struct hs_target *target, uint64_t now_ns, bool is_last);
/* As hs_sources_end(). */
void hs_hub_end_counters(struct hs_target *target, uint64_t end_ns);
/* hs_target_look(), and hs_hub_hold_files(). */
void hs_hub_look_at_process(struct hs_target *target, uint64_t now_ns);

/* hub.c: takes the last dump of a target, and separates it from its session. */
void hs_hub_part(struct hs_hub *hub, struct hs_target *target, uint64_t now_ns);

/* Writes a dump of a target to its session, if it has one. */
void hs_hub_dump(struct hs_hub *hub, struct hs_target *target, uint64_t now_ns, bool is_final);

/* This process is recorded from now on: the hub looks at it within 20 ms; at once, if the session
 * takes what announces itself: such a process may live for milliseconds. */
void hs_hub_look_soon(struct hs_hub *hub, struct hs_target *target, uint64_t now_ns);
