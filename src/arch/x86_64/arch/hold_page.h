/*
 * A page of memory with code that makes forks wait, to be mapped into another process from a file.
 *
 *     HS_HOLD_UNTIL_OFF     int64_t: until when forks wait, in nanoseconds of CLOCK_REALTIME,
 *                           which is the same in all namespaces; 0: they do not wait
 *     HS_HOLD_HANDLER_OFF   void handler(void), to be registered as what fork(3) calls in the
 *                           parent before it forks
 *
 * While forks have to wait, the handler sleeps. The process that made the page writes 0 to end
 * that; if that process is killed, the time ends it. No call sleeps for longer than a second,
 * whatever the time says: the clock may have been set back.
 *
 * The handler calls nothing but clock_gettime and nanosleep, both directly, so it preserves errno,
 * and a signal handler may interrupt it or call it. If a filter answers clock_gettime with an
 * error, it does not wait.
 *
 * Ensures   the bytes can be executed at any address; they write nothing but the stack.
 * Threads   any.
 */
#pragma once

#include <stdint.h>

#define HS_HOLD_UNTIL_OFF   0U
#define HS_HOLD_HANDLER_OFF 64U
/* How much memory to map. */
#define HS_HOLD_PAGE_BYTES 4096U

/* The page's first hs_hold_page_bytes bytes; those behind them are not used. */
extern const uint8_t hs_hold_page[];
extern const uint32_t hs_hold_page_bytes;
