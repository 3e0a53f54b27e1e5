/*
 * Assertions: what must hold unless our own code has a mistake.
 *
 * An assertion is never about input, and never about what the program, the kernel or the collector
 * does. It has three forms:
 *
 *   HS_ASSERT(condition)        cheap: compares values that are at hand.
 *   HS_ASSERT_SLOW(condition)   may search a table, or ask the kernel.
 *   hs_X_is_valid(x)            a function beside the table X. It walks the whole table, so it is
 *                               called only while no thread uses the table. Tests call it after
 *                               each step: HS_ASSERT(hs_X_is_valid(x)).
 *
 * A release build defines NDEBUG and contains none of them: the compiler checks that a condition
 * compiles, but generates no code for it. HS_ASSERT_SLOW also needs HS_SLOW_CHECKS, which
 * meson.build defines for builds with tests or fuzzers.
 *
 * Holds     no memory is allocated, no lock is taken and libc is not called, so an assertion is
 *           safe inside malloc and in a signal handler.
 * Threads   any.
 * Fails     a failed assertion writes a line to standard error and ends the process by an illegal
 *           instruction, at which a debugger stops.
 */
#pragma once

#ifdef NDEBUG
#define HS_HAS_CHECKS 0
#else
#define HS_HAS_CHECKS 1
#endif

#if HS_HAS_CHECKS

#include <stddef.h>

#include "rt/base.h"
#include "rt/sys.h"

/* Writes `line`, and ends the process. */
static HS_COLD __attribute__((noreturn, unused)) void hs_check_fail(const char *line,
                                                                    size_t line_bytes)
{
    hs_sys_write(2, line, line_bytes);
    __builtin_trap();
}

#define HS_CHECK_TEXT_OF(number) #number
#define HS_CHECK_TEXT(number)    HS_CHECK_TEXT_OF(number)
#define HS_CHECK_LINE(condition)                                                                   \
    "heapscope: " __FILE__ ":" HS_CHECK_TEXT(__LINE__) ": does not hold: " #condition "\n"
#define HS_ASSERT(condition)                                                                       \
    (hs_likely(condition)                                                                          \
         ? (void)0                                                                                 \
         : hs_check_fail(HS_CHECK_LINE(condition), sizeof(HS_CHECK_LINE(condition)) - 1))

#else

/* sizeof does not evaluate its operand. */
#define HS_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))

#endif

#if HS_HAS_CHECKS && defined(HS_SLOW_CHECKS)
#define HS_ASSERT_SLOW(condition) HS_ASSERT(condition)
#elif HS_HAS_CHECKS
#define HS_ASSERT_SLOW(condition) ((void)sizeof((condition) ? 1 : 0))
#else
#define HS_ASSERT_SLOW(condition) ((void)0)
#endif
