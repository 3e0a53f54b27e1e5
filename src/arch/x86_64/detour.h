/*
 * A detour: the entry of a function is led to a hook, and what stood there goes on to work elsewhere.
 *
 *     entry     jmp slot                    instead of the first instructions: five bytes
 *     slot      jmp *hook                   the hook may be anywhere
 *     slot+16   those instructions          moved: what is relative in them has been adjusted
 *               jmp entry + their length
 *
 * The function is the second part of the slot from then on: who calls that gets what the entry gave before, whether
 * the entry leads to the hook or has been set back.
 *
 * Only what is understood is moved. Nothing in the function may jump to where the five bytes are, and the function
 * may not end there. A call among the moved returns to the function itself, so that no return address lies in a slot,
 * where no unwinder finds its way. One that ends within the five bytes is refused: threads would return to there.
 *
 * Holds     bytes behind the first five stay as they are. A thread must not be behind one of the moved
 *           instructions within these five when they are written: that is the caller's to see to.
 * Trust     any bytes.
 * Threads   pure functions.
 * Fails     enum hs_detour_error.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HS_DETOUR_PATCH_BYTES 5U  /* that are written at the entry */
#define HS_DETOUR_SLOT_BYTES  64U /* its own place, executable, and no further away than 1 GiB */
#define HS_DETOUR_REAL_OFF    16U /* in the slot: what to call instead of the entry */

enum hs_detour_error {
    HS_DETOUR_DONE,
    HS_DETOUR_SHORT,   /* it ends before there is room for a jump */
    HS_DETOUR_UNKNOWN, /* an instruction that we do not know */
    HS_DETOUR_CALLS,   /* it begins with a call that is too short */
    HS_DETOUR_LOOPS,   /* it jumps back to its first instructions */
    HS_DETOUR_FAR,     /* what it names is out of reach from the slot */
    HS_DETOUR_ERROR_N,
};

struct hs_detour {
    uint8_t slot[HS_DETOUR_SLOT_BYTES];
    uint8_t patch[HS_DETOUR_PATCH_BYTES];
};

/* `code` are the `size_bytes` of the function that is at `entry_va`. */
int hs_detour_make(const uint8_t *code, size_t size_bytes, uint64_t entry_va, uint64_t slot_va,
                   uint64_t hook_va, struct hs_detour *ret_detour);

/* "it begins with a call". */
const char *hs_detour_error_words(int error);
