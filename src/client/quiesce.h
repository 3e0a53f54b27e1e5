/*
 * Waiting until nobody writes to our tables.
 *
 * Recording has been switched off; but a thread may have looked before, and be in the middle of it. Threads
 * say so in their thread-local storage (the guard) by a plain store, which costs nothing; so it is we who
 * pay: a barrier in all threads (membarrier(2)), and then a look at each one's guard.
 *
 *   thread   guard = mark;        is it on? ──no──► guard = 0
 *   we       off;       barrier;  guard = 0 everywhere? ──► nobody is at it, and nobody will be
 *
 * Holds     after true, no thread is inside a guard that it entered while recording was on.
 * Threads   one, with recording off.
 * Fails     false: somebody did not come out in time: it is not running, or was left by a longjmp. (Our tables
 *           stay mapped where they are whatever is done to them, so if they are emptied all the same, what
 *           it does yet is at worst one odd record.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool hs_quiesce_wait(uint64_t max_ns);
