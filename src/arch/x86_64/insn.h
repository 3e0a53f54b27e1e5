/*
 * Instructions of x86-64: how long each is, and what in it depends on where it stands.
 *
 * For code that is to be moved elsewhere. What each instruction does is of no interest, but where it ends, whether
 * it names memory or a target relative to itself, and whether what follows is ever reached.
 *
 * Holds     an instruction that is decoded has the length that objdump gives it, over all functions of libc,
 *           libstdc++, jemalloc and tcmalloc (test_insn.c, test_insn_objdump.py).
 * Trust     any bytes: nothing behind `cap_bytes` is read.
 * Threads   pure function.
 * Fails     false: cut, invalid, or of a kind that is not known here (XOP, 3DNow!, branches with odd prefixes).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_INSN_BYTES_MAX 15U

enum hs_insn_kind {
    HS_INSN_PLAIN,
    HS_INSN_JUMP,          /* to the target; what follows is not reached */
    HS_INSN_BRANCH,        /* if: to the target */
    HS_INSN_BRANCH_ODD,    /* the same, by something else: loop, jrcxz, xbegin */
    HS_INSN_CALL,          /* of the target */
    HS_INSN_JUMP_INDIRECT, /* what follows is not reached */
    HS_INSN_CALL_INDIRECT,
    HS_INSN_END, /* return, trap: what follows is not reached */
};

struct hs_insn {
    uint8_t length_bytes;
    uint8_t kind;      /* enum hs_insn_kind */
    uint8_t condition; /* of HS_INSN_BRANCH: the low four bits of its opcode */
    /* Where in it a displacement of four bytes from its end stands that names memory; 0: none. */
    uint8_t memory_off;
    int32_t target_off; /* of those with a target: from its end */
};

bool hs_insn_decode(const uint8_t *code, size_t cap_bytes, struct hs_insn *ret_insn);
