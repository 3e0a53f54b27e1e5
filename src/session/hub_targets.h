/*
 * Which session gets which process: the half of the hub that decides. See hub.h.
 *
 * Threads   as the hub.
 */
#pragma once

#include "session/hub.h"

/* An image has begun, and may have ended already. */
void hs_hub_welcome(struct hs_hub *hub, struct hs_target *target);

/* An image of which hub->heir says what it was. */
void hs_hub_restore(struct hs_hub *hub, struct hs_target *target);

/* What runs already when a session starts. */
void hs_hub_take_running(struct hs_hub *hub, struct hs_session *session, uint64_t now_ns,
                         hs_hub_say_fn *say, void *say_ctx);

/* A running process that the session means: taken over, or attached to. */
void hs_hub_take_pid(struct hs_hub *hub, struct hs_session *session, pid_t pid, uint64_t now_ns);

/* hub_children.c: children of those that were taken, if their session asks for them. Has anybody been looked at? */
bool hs_hub_take_children(struct hs_hub *hub, uint64_t now_ns);

/* hub_process_watch.c: programs that start are noticed from now on, if this session waits for such. -ENOMEM. */
int hs_hub_begin_new_processes(struct hs_hub *hub, const struct hs_session *session,
                               uint64_t now_ns);
/* Returns when to come back. */
uint64_t hs_hub_look_for_new_processes(struct hs_hub *hub, uint64_t now_ns);
/* A process that started, or took another name, a moment ago. If the session means it, it gets it. */
void hs_hub_take_new_process(struct hs_hub *hub, struct hs_session *session, pid_t pid);

/* hub_authorize.c: may this session have the process? `target` NULL: it would be attached to. */
enum hs_refusal hs_hub_authorize(const struct hs_hub *hub, const struct hs_session *session,
                                 const struct hs_process_facts *facts, struct hs_target *target,
                                 struct hs_refusal_words *ret_words);
/* To ask for all is to ask for all that one may have: then nothing is said of others'. */
bool hs_hub_is_silent(const struct hs_hub *hub, const struct hs_session *session,
                      enum hs_refusal refusal, pid_t pid);
/* May it, of those that it means? If not, that is told. */
bool hs_hub_may_have(const struct hs_hub *hub, struct hs_session *session,
                     const struct hs_process_facts *facts, struct hs_target *target,
                     uint64_t now_ns);
/* Why a client could not be brought in: -errno of hs_hub_config.attach; -EINTR: the recording is about to end. */
void hs_hub_word_attaching(int error, struct hs_refusal_words *ret_words);

/* hub.c: its last dump; its session has it no more. */
void hs_hub_part(struct hs_hub *hub, struct hs_target *target, uint64_t now_ns);
/* It executed another program: its image ends, and the session may have that program, too. */
void hs_hub_follow(struct hs_hub *hub, struct hs_target *target, uint64_t now_ns);

/* A dump of a target for its session, if it has one. */
void hs_hub_dump(struct hs_hub *hub, struct hs_target *target, uint64_t now_ns, bool is_final);

/* There is somebody to be looked at. */
void hs_hub_look_soon(struct hs_hub *hub, uint64_t now_ns);
