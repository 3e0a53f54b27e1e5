/*
 * Waiting until no thread writes to the client's tables.
 *
 * Recording has been switched off; but a thread that found it on before that may still be
 * recording. While a thread records, it says so in the guard, a word of its thread-local storage.
 * It sets the guard by a plain store, because a memory barrier at each sample would be expensive.
 * So the waiting side makes the barrier, in all threads at once (membarrier(2)), and then reads
 * each thread's guard.
 *
 *   thread   guard = mark;        is it on? ──no──► guard = 0
 *   waiter   off;       barrier;  guard = 0 everywhere? ──► no thread records, and none will
 *
 * Holds     when this returns true, no thread is inside a guard that it entered while recording was
 *           on.
 * Threads   one, with recording off.
 * Fails     false: a thread did not leave our code in time: it is not running, or left by a
 *           longjmp. (The tables stay mapped at their addresses in any case, so if they are emptied
 *           all the same, the worst that this thread can still do is to write one wrong record.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Waits at most `max_ns` nanoseconds. False: a thread may still be recording. */
bool hs_quiesce_wait(uint64_t max_ns);
