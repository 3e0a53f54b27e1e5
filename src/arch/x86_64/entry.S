/*
 * The way from a hook into its slow half on x86-64: the registers of the caller are saved as a
 * struct hs_regs, and the slow half is called with the hook's own arguments and a pointer to it.
 *
 * The hooks jump here (a tail call), so on entry (%rsp) is the address the program will continue
 * at, and every callee-saved register still has the program's value. That gives an unwinder an
 * exact start, without one frame of ours to skip.
 *
 *     ENTRY n   the hook has n arguments; the pointer becomes argument n + 1
 */
#ifndef __x86_64__
#error "this file is for x86-64"
#endif

#include <asm/unistd.h>

    .text

.macro ENTRY name, slow, regs_arg
    .globl \name
    .hidden \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
    movq (%rsp), %r11
    leaq 8(%rsp), %r10
    pushq %r15
    .cfi_adjust_cfa_offset 8
    pushq %r14
    .cfi_adjust_cfa_offset 8
    pushq %r13
    .cfi_adjust_cfa_offset 8
    pushq %r12
    .cfi_adjust_cfa_offset 8
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    pushq %r10
    .cfi_adjust_cfa_offset 8
    pushq %r11
    .cfi_adjust_cfa_offset 8
    movq %rsp, \regs_arg
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call \slow
    addq $72, %rsp
    .cfi_adjust_cfa_offset -72
    ret
    .cfi_endproc
    .size \name, . - \name
.endm

    ENTRY hs_entry_malloc,         hs_slow_malloc,         %rsi
    ENTRY hs_entry_calloc,         hs_slow_calloc,         %rdx
    ENTRY hs_entry_realloc,        hs_slow_realloc,        %rdx
    ENTRY hs_entry_reallocarray,   hs_slow_reallocarray,   %rdx
    ENTRY hs_entry_memalign,       hs_slow_memalign,       %rdx
    ENTRY hs_entry_posix_memalign, hs_slow_posix_memalign, %rcx
    ENTRY hs_entry_aligned_alloc,  hs_slow_aligned_alloc,  %rdx
    ENTRY hs_entry_valloc,         hs_slow_valloc,         %rsi
    ENTRY hs_entry_pvalloc,        hs_slow_pvalloc,        %rsi
    ENTRY hs_entry_new,            hs_slow_new,            %r8

/*
 * syscall(), as the program calls it. It can have seven arguments, and the last is on the stack; with fewer, that
 * word is a local of the caller, which another thread may be writing to. So this hook has no frame that the compiler
 * could move arguments through: it looks at registers, and jumps. A few calls, and the first of all, go by
 * hs_slow_syscall().
 */
#define REAL_SYSCALL_OFF 104

    .globl syscall
    .type syscall, @function
    .p2align 4
syscall:
    .cfi_startproc
    cmpq $__NR_seccomp, %rdi
    je 1f
    cmpq $__NR_prctl, %rdi
    je 1f
    movq hs_real+REAL_SYSCALL_OFF(%rip), %rax
    testq %rax, %rax
    je 1f
    jmp *%rax
1:
    .irp reg, rdi, rsi, rdx, rcx, r8, r9
    pushq %\reg
    .cfi_adjust_cfa_offset 8
    .endr
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call hs_slow_syscall
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    .irp reg, r9, r8, rcx, rdx, rsi, rdi
    popq %\reg
    .cfi_adjust_cfa_offset -8
    .endr
    jmp *hs_real+REAL_SYSCALL_OFF(%rip)
    .cfi_endproc
    .size syscall, . - syscall

    .section .note.GNU-stack, "", @progbits
