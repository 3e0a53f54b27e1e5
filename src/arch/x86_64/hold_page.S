/*
 * The page that makes forks wait, on x86-64: see arch/hold_page.h. These bytes are data here: a
 * copy of them is executed in another process, at any address. So they call nothing, and refer to
 * nothing but themselves.
 */
#ifndef __x86_64__
#error "this file is for x86-64"
#endif

#include <asm/unistd.h>

/* Each sleep is longer than the one before by the first one, up to the longest: so a short wait
 * ends soon, and a long one takes little time of the processor. */
#define FIRST_SLEEP_NS   20000
#define LONGEST_SLEEP_NS 2000000
#define SECOND_NS        1000000000
#define TIME_BYTES       16 /* struct timespec */

#define CLOCK_REALTIME  0
#define CLOCK_MONOTONIC 1

/* Reads a clock into rax; uses the struct timespec at (%rsp). If that fails, leaves the loop. */
.macro READ_CLOCK clock
    movl $__NR_clock_gettime, %eax
    movl $\clock, %edi
    movq %rsp, %rsi
    syscall
    testq %rax, %rax
    jnz 4f
    imulq $SECOND_NS, (%rsp), %rax
    addq 8(%rsp), %rax
.endm

    .section .rodata
    .globl hs_hold_page
    .hidden hs_hold_page
    .type hs_hold_page, @object
    .balign 64
hs_hold_page:
    .quad 0 /* HS_HOLD_UNTIL_OFF */
    .balign 64

    /* HS_HOLD_HANDLER_OFF. It has a frame pointer, because no unwind rule covers it. */
    endbr64
    cmpq $0, hs_hold_page(%rip)
    je 5f
    pushq %rbp
    movq %rsp, %rbp
    pushq %rbx
    pushq %r12
    subq $TIME_BYTES, %rsp
    READ_CLOCK CLOCK_MONOTONIC
    leaq SECOND_NS(%rax), %r12 /* the latest end */
    xorl %ebx, %ebx            /* how long to sleep */
1:
    READ_CLOCK CLOCK_MONOTONIC
    cmpq %r12, %rax
    jge 4f
    READ_CLOCK CLOCK_REALTIME
    cmpq hs_hold_page(%rip), %rax
    jge 4f
    cmpq $LONGEST_SLEEP_NS, %rbx
    jae 2f
    addq $FIRST_SLEEP_NS, %rbx
2:
    movq $0, (%rsp)
    movq %rbx, 8(%rsp)
    movl $__NR_nanosleep, %eax
    movq %rsp, %rdi
    xorl %esi, %esi
    syscall
    jmp 1b
4:
    addq $TIME_BYTES, %rsp
    popq %r12
    popq %rbx
    popq %rbp
5:
    ret
    .size hs_hold_page, . - hs_hold_page

    .globl hs_hold_page_bytes
    .hidden hs_hold_page_bytes
    .type hs_hold_page_bytes, @object
    .balign 4
hs_hold_page_bytes:
    .long hs_hold_page_bytes - hs_hold_page
    .size hs_hold_page_bytes, 4

    .section .note.GNU-stack, "", @progbits
