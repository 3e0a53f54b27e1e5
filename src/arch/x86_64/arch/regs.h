/*
 * The registers that unwinding on x86-64 needs, and their DWARF numbers.
 *
 * Only registers that survive a call matter: the program counter, the stack pointer and the
 * callee-saved registers of the System V ABI. Caller-saved ones are unknown in every frame but the
 * innermost.
 *
 * Ensures   `pc` is the address at which execution will continue in that frame: a return address,
 *           except in a frame interrupted by a signal.
 */
#pragma once

#include <stdint.h>

/* The order is the layout that src/arch/x86_64/entry.S writes. */
struct hs_regs {
    uint64_t pc;
    uint64_t sp; /* of the caller, as if its call instruction had been undone */
    uint64_t bp;
    uint64_t bx;
    uint64_t r12;
    uint64_t r13;
    uint64_t r14;
    uint64_t r15;
};

_Static_assert(sizeof(struct hs_regs) == 64, "entry.S writes eight words");

/* DWARF register numbers, System V ABI figure 3.36. */
enum hs_dwarf_reg {
    HS_DWARF_RAX = 0,
    HS_DWARF_RDX = 1,
    HS_DWARF_RCX = 2,
    HS_DWARF_RBX = 3,
    HS_DWARF_RSI = 4,
    HS_DWARF_RDI = 5,
    HS_DWARF_BP = 6, /* rbp */
    HS_DWARF_SP = 7, /* rsp */
    HS_DWARF_R8 = 8,
    HS_DWARF_R10 = 10,
    HS_DWARF_R12 = 12,
    HS_DWARF_R13 = 13,
    HS_DWARF_R14 = 14,
    HS_DWARF_R15 = 15,
    HS_DWARF_RA = 16,
    HS_DWARF_REG_N = 17,
};
