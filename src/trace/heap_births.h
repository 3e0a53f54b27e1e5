/*
 * Births: when the blocks were allocated that a stack holds at a cut.
 *
 * The time since recording began is divided into windows of equal width. The width is the smallest
 * power of two of milliseconds, from HS_BIRTH_WINDOW_MS_MIN on, with which there are at most
 * HS_BIRTH_WINDOWS windows. So the windows of a later snapshot are those of an earlier one, or
 * consist of two, four, ... of them. A block that a forked process inherited is in window 0.
 */
#pragma once

#include <stdint.h>

#define HS_BIRTH_WINDOWS       32U
#define HS_BIRTH_WINDOW_MS_MIN 1U

/* The width of the windows, `span_ms` after recording began. */
static inline uint64_t hs_birth_window_ms(uint64_t span_ms)
{
    uint64_t window_ms = HS_BIRTH_WINDOW_MS_MIN;
    while (span_ms / window_ms >= HS_BIRTH_WINDOWS) {
        window_ms *= 2;
    }
    return window_ms;
}
