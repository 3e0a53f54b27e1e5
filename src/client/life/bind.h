/*
 * Recording without a session: a bound process records from its first allocation, whether a daemon
 * runs or not, and hands its region to a daemon when there is one.
 *
 * A process is bound at its first allocation if it is linked with libheapscope_malloc.so or if its
 * environment has HS_ENV_INTERVAL (and no collector's name), and otherwise when it calls
 * heapscope_bind(). Its hello has HS_HELLO_BOUND. The client keeps a descriptor of the region,
 * under a high number, for the daemon that comes later, and for the one that follows a daemon that
 * has ended. At most once a second it asks the kernel whether a daemon has the region
 * (HS_REGION_LOCK_OFFSET), and looks for one if none has: when a thread's sample reads the clock
 * (HS_CONTROL_BOUND), and in calls of the library.
 *
 * Ensures   HS_CONTROL_BOUND is set in the control page while the descriptor is kept, and
 *           HS_CONTROL_KEPT while no daemon has the region, as far as the client knows.
 * Threads   any; one of them looks at a time, with signals blocked.
 * Fails     if the program closes the descriptor, no other daemon can get the region any more; the
 *           client goes on recording.
 * See       docs/adr/0031-binding.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/host/env.h"
#include "client/life/collector_connect.h"
#include "fmt/api_layout.h"
#include "rt/base.h"

/* Is this process to be bound at its first allocation? Keeps what it needs of the environment. */
bool hs_bind_takes(const struct hs_env *env);

/* Takes what heapscope_bind() asks for, in a process that is not bound. -EPERM: the environment
 * forbids it; -EINVAL: the socket's path. */
int hs_bind_ask(const struct hs_api_bind_v1 *request);

/* The path of the socket of the daemon that got the region last; "": none did. */
const char *hs_bind_daemon(void);

/* Is it bound, or about to be? */
bool hs_bind_is_on(void);
/* The interval with which it begins. */
uint64_t hs_bind_interval(void);

/* Ends what hs_bind_ask began, if the client could not start. */
void hs_bind_give_up(void);

/* Sets the interval, and looks for a daemon. Without one, `sock` is -1 and the name is empty. */
void hs_bind_find(struct hs_collector_connect *ret_collector);

/* Keeps a copy of the region's descriptor, and hands the region to the daemon if there is one. `fd`
 * stays the caller's. */
void hs_bind_announce(const struct hs_collector_connect *collector, int fd);

/* The same for another region of this process or of a forked child: looks for the daemon first. */
void hs_bind_announce_again(int fd);

/* The flags of its hello: 0 if it is not bound. */
uint32_t hs_bind_flags(void);

/* Takes the interval and the socket of a program that calls heapscope_bind() while it is bound
 * already. 0; -EISCONN: a daemon has the region already, and another socket is asked for; -EPERM: a
 * daemon has switched the process off, as its policy says. */
int hs_bind_change(const struct hs_api_bind_v1 *request);

/* Does no daemon have the region, as far as is known? */
bool hs_bind_is_kept(void);

/* If a second has passed since the last look: hands the region to a daemon if none has it. Does
 * nothing in a process that keeps no descriptor. Also inside the reentry guard. */
HS_COLD void hs_bind_try(void);

/* The same at once. Has it handed the region over? */
bool hs_bind_look(void);

/* In a child of a fork: the descriptor is its parent's region. */
void hs_bind_follow_fork(void);
