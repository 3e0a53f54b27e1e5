/*
 * New processes: processes that were not there before, or that execute another program since.
 *
 * The kernel tells of such only those with rights over the whole machine, so /proc is looked at, again and again. It
 * is listed when a process id has been given out since, which /proc/loadavg tells, and rarely otherwise. What is read of
 * a process is read of young ones at every look, of all others rarely: a program that is started is a young process that
 * executes something, nearly always.
 *
 *     struct hs_process_watch *new processes = hs_process_watch_new(now);       those that run already are not new
 *     until = hs_process_watch_look(new processes, now, on_new_process, ctx);  when to come back
 *
 * Who is found is told at the look after that in which it was first seen as it is. So whoever is gone after some
 * hundredths of a second is not told of at all, and the loader of who is told of has done its work.
 *
 * Threads   one; never waits.
 * Fails     NULL: no memory. What cannot be read is looked at again.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Between two looks. */
#define HS_PROCESS_WATCH_LOOK_NS UINT64_C(40000000)
/* A process is young for so long; */
#define HS_PROCESS_WATCH_YOUNG_NS UINT64_C(2000000000)
/* and older ones are looked at so often. */
#define HS_PROCESS_WATCH_OLD_NS UINT64_C(1000000000)

struct hs_process_watch;
typedef void hs_new_process_fn(void *ctx, pid_t pid);

struct hs_process_watch *hs_process_watch_new(uint64_t now_ns);
/* NULL is fine. Returns NULL. */
struct hs_process_watch *hs_process_watch_free(struct hs_process_watch *watch);

uint64_t hs_process_watch_look(struct hs_process_watch *watch, uint64_t now_ns,
                               hs_new_process_fn *say, void *ctx);
