/*
 * The process watch finds new processes: those that have started, and those that have executed
 * another program.
 *
 * The kernel notifies only processes with rights over the whole machine, so the watch polls /proc.
 * It lists /proc when a process id has been given out since the last look, which /proc/loadavg
 * shows, and otherwise once a second. It reads about young processes at every look, and about all
 * others once a second: a program that starts is nearly always a young process that executes
 * something.
 *
 *     struct hs_process_watch *watch = hs_process_watch_new(now);      knows what runs now
 *     until = hs_process_watch_look(watch, now, on_new_process, ctx);  when to call it again
 *
 * The watch reports a process one look after the look that first saw it in its present state. So a
 * process that ends within some hundredths of a second is not reported at all, and by the time a
 * process is reported, its loader has finished.
 *
 * Threads   one; never waits.
 * Fails     NULL: no memory. A process that cannot be read is looked at again.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* The time between two looks. */
#define HS_PROCESS_WATCH_LOOK_NS UINT64_C(40000000)
/* A process is young until it has been known for this long. */
#define HS_PROCESS_WATCH_YOUNG_NS UINT64_C(2000000000)
/* The time between two looks at older processes. */
#define HS_PROCESS_WATCH_OLD_NS UINT64_C(1000000000)

struct hs_process_watch;
/* Called for each new process. */
typedef void hs_new_process_fn(void *ctx, pid_t pid);

/* Makes a watch that knows the processes that run now. Returns NULL if there is no memory. */
struct hs_process_watch *hs_process_watch_new(uint64_t now_ns);
/* Frees the watch. Accepts NULL; returns NULL. */
struct hs_process_watch *hs_process_watch_free(struct hs_process_watch *watch);

/* Looks at /proc if it is time, and calls `say` for each new process. Times are CLOCK_MONOTONIC.
 * Returns when to call it again. */
uint64_t hs_process_watch_look(struct hs_process_watch *watch, uint64_t now_ns,
                               hs_new_process_fn *say, void *ctx);
