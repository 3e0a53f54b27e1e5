/*
 * Finds what the code before a return address calls, on x86-64.
 *
 * Machine code cannot be read backwards: other bytes may look like a call. So an answer can be
 * trusted only if it leads to an address that the caller expects.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* How many bytes are read: before the return address, and at the start of a linkage table's
 * stub. */
#define HS_CALL_SITE_BYTES 6U
#define HS_CALL_STUB_BYTES 16U

/* What a call leads to. */
struct hs_callee {
    uint64_t va;
    bool is_slot; /* the function's address is stored at `va` */
};

/* The address that a 32-bit distance at `field` names; the distance counts from `end_va`. */
static inline uint64_t hs_call_relative(const uint8_t *field, uint64_t end_va)
{
    int32_t distance;
    memcpy(&distance, field, sizeof(distance));
    return end_va + (uint64_t)(int64_t)distance;
}

/* Reads call rel32, or call *rel32(%rip). False: neither ends here. */
static inline bool hs_call_site_read(const uint8_t code[HS_CALL_SITE_BYTES], uint64_t return_va,
                                     struct hs_callee *ret_callee)
{
    bool is_slot = code[0] == 0xff && code[1] == 0x15;
    *ret_callee = (struct hs_callee){ hs_call_relative(code + 2, return_va), is_slot };
    return is_slot || code[1] == 0xe8;
}

/* Reads [endbr64] [bnd] jmp *rel32(%rip), and returns where the target's address is stored. False:
 * `code`, which is at `va`, is something else. */
static inline bool hs_call_stub_read(const uint8_t code[HS_CALL_STUB_BYTES], uint64_t va,
                                     uint64_t *ret_slot_va)
{
    static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
    unsigned at = memcmp(code, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
    at += code[at] == 0xf2;
    *ret_slot_va = hs_call_relative(code + at + 2, va + at + 6);
    return code[at] == 0xff && code[at + 1] == 0x25;
}
