/*
 * The frame that Linux puts on the stack for a signal handler on x86-64: a struct ucontext, right
 * above the return address into the trampoline that calls rt_sigreturn.
 *
 * Offsets are from sp in the trampoline, which is where the ucontext begins. The layout is part of
 * the kernel's ABI: uc_flags 8, uc_link 8, uc_stack 24, then the registers of struct sigcontext.
 */
#pragma once

#include <stdint.h>

#include "arch/regs.h"

#define HS_SIGFRAME_REG_N 17U

/* Where each register lies in the frame. */
static const struct {
    uint8_t off;
    uint8_t dwarf_reg;
} hs_sigframe[HS_SIGFRAME_REG_N] = {
    { 40, HS_DWARF_R8 },   { 48, HS_DWARF_R8 + 1 }, { 56, HS_DWARF_R10 },  { 64, HS_DWARF_R10 + 1 },
    { 72, HS_DWARF_R12 },  { 80, HS_DWARF_R13 },    { 88, HS_DWARF_R14 },  { 96, HS_DWARF_R15 },
    { 104, HS_DWARF_RDI }, { 112, HS_DWARF_RSI },   { 120, HS_DWARF_BP },  { 128, HS_DWARF_RBX },
    { 136, HS_DWARF_RDX }, { 144, HS_DWARF_RAX },   { 152, HS_DWARF_RCX }, { 160, HS_DWARF_SP },
    { 168, HS_DWARF_RA },
};
