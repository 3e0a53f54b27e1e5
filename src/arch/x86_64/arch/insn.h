/*
 * Instructions of x86-64: how long each one is, and what in it depends on its address.
 *
 * This is for code that is moved elsewhere. It does not matter what an instruction does, but where
 * it ends, whether it names memory or a target relative to itself, and whether the code behind it
 * is ever reached.
 *
 * Ensures   a decoded instruction has the length that objdump gives it, for all functions of libc,
 *           libstdc++, jemalloc and tcmalloc (test_insn.c, test_insn_objdump.py).
 * Trust     any bytes: nothing behind `cap_bytes` is read.
 * Threads   pure function.
 * Fails     false: truncated, invalid, or of an unknown kind (XOP, 3DNow!, branches with unusual
 *           prefixes).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_INSN_BYTES_MAX 15U

/* Kinds of instructions. */
enum hs_insn_kind {
    HS_INSN_PLAIN,
    HS_INSN_JUMP,          /* to the target; the code behind it is not reached */
    HS_INSN_BRANCH,        /* conditional, to the target */
    HS_INSN_BRANCH_ODD,    /* the same, on another condition: loop, jrcxz, xbegin */
    HS_INSN_CALL,          /* of the target */
    HS_INSN_JUMP_INDIRECT, /* the code behind it is not reached */
    HS_INSN_CALL_INDIRECT,
    HS_INSN_END, /* return, trap: the code behind it is not reached */
};

/* A decoded instruction. */
struct hs_insn {
    uint8_t length_bytes;
    uint8_t kind;      /* enum hs_insn_kind */
    uint8_t condition; /* of HS_INSN_BRANCH: the low four bits of its opcode */
    /* Offset in it of a four-byte displacement that names memory relative to the instruction's end;
     * 0: none. */
    uint8_t memory_off;
    int32_t target_off; /* of kinds with a target: relative to the instruction's end */
};

/* Decodes the instruction at `code`, of which `cap_bytes` may be read. False: see "Fails". */
bool hs_insn_decode(const uint8_t *code, size_t cap_bytes, struct hs_insn *ret_insn);
