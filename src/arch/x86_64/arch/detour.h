/*
 * A detour: a jump at a function's entry leads to a hook, and the instructions that stood there go
 * on working in another place.
 *
 *    entry     jmp slot                    instead of the first instructions: five bytes
 *    slot      jmp *hook                   the hook may be anywhere
 *    slot+16   those instructions          moved: what is relative in them has been adjusted
 *              jmp entry + their length
 *
 * From then on the second part of the slot stands for the function: a call of it does what a call
 * of the entry did before, whether the entry leads to the hook or has been restored.
 *
 * Only instructions that are understood are moved. Nothing in the function may jump into the five
 * bytes, and the function may not end there. A call among the moved instructions returns into the
 * function itself, so that no return address lies in a slot, where no unwinder finds its way. A
 * call that ends within the five bytes is refused: threads would return into them.
 *
 * Ensures   bytes behind the first five are not changed.
 * Requires  when the five bytes are written, no thread is behind one of the moved instructions
 *           within them.
 * Trust     any bytes.
 * Threads   pure functions.
 * Fails     enum hs_detour_error.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HS_DETOUR_PATCH_BYTES 5U /* bytes written at the entry */
#define HS_DETOUR_SLOT_BYTES                                                                       \
    64U /* a slot's size; slots are executable, and no further away than 1 GiB */
#define HS_DETOUR_REAL_OFF 16U /* offset in the slot of the code to call instead of the entry */

/* Why a function can have no detour. */
enum hs_detour_error {
    HS_DETOUR_DONE,
    HS_DETOUR_SHORT,   /* it ends before there is room for a jump */
    HS_DETOUR_UNKNOWN, /* it has an unknown instruction */
    HS_DETOUR_CALLS,   /* it begins with a call that is too short */
    HS_DETOUR_LOOPS,   /* it jumps back to its first instructions */
    HS_DETOUR_FAR,     /* an address that it uses is out of reach from the slot */
    HS_DETOUR_ERROR_N,
};

/* The code of a detour. */
struct hs_detour {
    uint8_t slot[HS_DETOUR_SLOT_BYTES];
    uint8_t patch[HS_DETOUR_PATCH_BYTES];
};

/* Makes the detour of a function. `code`: the `size_bytes` of the function that lies at `entry_va`.
 * Returns enum hs_detour_error. */
int hs_detour_make(const uint8_t *code, size_t size_bytes, uint64_t entry_va, uint64_t slot_va,
                   uint64_t hook_va, struct hs_detour *ret_detour);

/* A phrase for an error, such as "it is too short". */
const char *hs_detour_error_words(int error);
