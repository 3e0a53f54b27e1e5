/*
 * Captures the registers of a call site, for code of ours that starts a walk at itself.
 *
 * (The hooks of the client start their walks in entry.S.)
 */
#pragma once

#include "arch/regs.h"

/* Stores in *regs the caller's registers as they are after the return. Valid while the caller's
 * frame exists. */
__attribute__((naked, noinline, unused)) static void hs_regs_capture(struct hs_regs *regs
                                                                     __attribute__((unused)))
{
    __asm__("movq (%rsp), %rax\n\t"
            "movq %rax, (%rdi)\n\t"
            "leaq 8(%rsp), %rax\n\t"
            "movq %rax, 8(%rdi)\n\t"
            "movq %rbp, 16(%rdi)\n\t"
            "movq %rbx, 24(%rdi)\n\t"
            "movq %r12, 32(%rdi)\n\t"
            "movq %r13, 40(%rdi)\n\t"
            "movq %r14, 48(%rdi)\n\t"
            "movq %r15, 56(%rdi)\n\t"
            "ret");
}
