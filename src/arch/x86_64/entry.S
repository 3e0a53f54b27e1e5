/*
 * The way from a hook into its slow half on x86-64. The caller's registers are saved as a struct
 * hs_regs, and the slow half is called with the hook's own arguments and a pointer to that struct.
 *
 * The hooks jump here (a tail call), so on entry (%rsp) is the address at which the program will
 * continue, and every callee-saved register still has the program's value. That gives the unwinder
 * an exact start, without a frame of ours to skip.
 *
 *     ENTRY name, slow, regs_arg   regs_arg: the register of the argument behind the hook's own
 */
#ifndef __x86_64__
#error "this file is for x86-64"
#endif

#include <asm/unistd.h>

    .text

.macro BEGIN_ENTRY name
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
.endm

.macro END_ENTRY name, slow
    call \slow
    addq $72, %rsp
    .cfi_adjust_cfa_offset -72
    ret
    .cfi_endproc
    .size \name, . - \name
.endm

.macro ENTRY name, slow, regs_arg
    BEGIN_ENTRY \name
    movq %rsp, \regs_arg
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    END_ENTRY \name, \slow
.endm

/* For hooks that have six arguments of their own: the pointer is a seventh, on the stack. */
.macro ENTRY_6 name, slow
    BEGIN_ENTRY \name
    movq %rsp, %rax
    pushq %rax
    .cfi_adjust_cfa_offset 8
    END_ENTRY \name, \slow
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
    ENTRY hs_entry_own,            hs_slow_own,            %r9
    ENTRY hs_entry_report,         hs_slow_report,         %rcx
    ENTRY hs_entry_report_of,      hs_slow_report_of,      %r8
    ENTRY hs_entry_python,         hs_slow_python,         %r8
    ENTRY hs_entry_report_sample,  hs_slow_report_sample,  %rcx
    ENTRY_6 hs_entry_mmap,         hs_slow_mmap
    ENTRY hs_entry_mremap,         hs_slow_mremap,         %r9
    ENTRY hs_entry_mprotect,       hs_slow_mprotect,       %rcx
    ENTRY hs_entry_pkey_mprotect,  hs_slow_pkey_mprotect,  %r8
    ENTRY hs_entry_brk,            hs_slow_brk,            %rsi
    ENTRY hs_entry_sbrk,           hs_slow_sbrk,           %rsi
    ENTRY_6 hs_entry_map_syscall,  hs_slow_map_syscall

/* syscall(), as the program calls it. It can have seven arguments, and the last is on the stack.
 * With fewer arguments that word is a local variable of the caller, to which another thread may be
 * writing. So this hook has no frame through which the compiler could move arguments: it looks at
 * registers, and jumps. Only a few system calls, and the first of all, pass through
 * hs_slow_syscall(). */
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
    leaq -__NR_mmap(%rdi), %rax
    cmpq $__NR_munmap - __NR_mmap, %rax /* mmap, mprotect, munmap */
    jbe hs_entry_map_syscall
    cmpq $__NR_mremap, %rdi
    je hs_entry_map_syscall
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
    .globl hs_hook_syscall
    .hidden hs_hook_syscall
    .set hs_hook_syscall, syscall

/* dlopen(), dlsym() and dlvsym() look at their return address to find out which object calls them,
 * so these hooks jump to them, with all arguments unchanged. In a process that was attached to, the
 * calls of objects that are loaded later must be redirected too; if the client is preloaded, a
 * library opened with RTLD_DEEPBIND may bring an allocator. dlopen notes that there may be a new
 * object; by the time that its caller asks for a symbol there, the object is loaded. */
#define REAL_IS_PRELOADED_OFF 145
#define DEEPBIND 8 /* RTLD_DEEPBIND */
#define PATCH_DUE    1 /* HS_PATCH_DUE */
#define PATCH_LOADED 2
#define REAL_DLOPEN_OFF 112
#define REAL_DLSYM_OFF  120
#define REAL_DLVSYM_OFF 128

/* Calls a function of ours between the hook's first instruction and the jump to the real
 * function. */
.macro CALL_ASIDE function
    .irp reg, rdi, rsi, rdx
    pushq %\reg
    .cfi_adjust_cfa_offset 8
    .endr
    call \function
    .irp reg, rdx, rsi, rdi
    popq %\reg
    .cfi_adjust_cfa_offset -8
    .endr
.endm

    .globl dlopen
    .type dlopen, @function
    .p2align 4
dlopen:
    .cfi_startproc
    cmpq $0, hs_real+REAL_DLOPEN_OFF(%rip)
    jne 1f
    CALL_ASIDE hs_real_resolve
1:
    lock orl $PATCH_LOADED, hs_patch_is_due(%rip)
    testl $DEEPBIND, %esi
    jne 2f
    cmpb $0, hs_real+REAL_IS_PRELOADED_OFF(%rip)
    jne 3f
2:
    lock orl $PATCH_DUE, hs_patch_is_due(%rip)
3:
    jmp *hs_real+REAL_DLOPEN_OFF(%rip)
    .cfi_endproc
    .size dlopen, . - dlopen
    .globl hs_hook_dlopen
    .hidden hs_hook_dlopen
    .set hs_hook_dlopen, dlopen

/* Exported: if the executable defines malloc, its own RTLD_NEXT must not find our hook, to which
 * its malloc leads (hs_slow_next_symbol). There the return address lies above three saved
 * registers. */
#define REAL_IS_DEFINED_OFF 147
#define IS_NEXT             -1

.macro SYMBOL_HOOK name, real_off
    .globl \name
    .type \name, @function
    .p2align 4
\name:
    .cfi_startproc
    cmpq $0, hs_real+\real_off(%rip)
    jne 1f
    CALL_ASIDE hs_real_resolve
1:
    cmpq $IS_NEXT, %rdi
    jne 2f
    cmpb $0, hs_real+REAL_IS_DEFINED_OFF(%rip)
    je 2f
    .irp reg, rdi, rsi, rdx
    pushq %\reg
    .cfi_adjust_cfa_offset 8
    .endr
    movq %rsi, %rdi
    movq 24(%rsp), %rsi
    call hs_slow_next_symbol
    .irp reg, rdx, rsi, rdi
    popq %\reg
    .cfi_adjust_cfa_offset -8
    .endr
    testq %rax, %rax
    je 2f
    ret
2:
    cmpl $0, hs_patch_is_due(%rip)
    je 3f
    CALL_ASIDE hs_slow_new_objects
3:
    jmp *hs_real+\real_off(%rip)
    .cfi_endproc
    .size \name, . - \name
    .globl hs_hook_\name
    .hidden hs_hook_\name
    .set hs_hook_\name, \name
.endm

    SYMBOL_HOOK dlsym,  REAL_DLSYM_OFF
    SYMBOL_HOOK dlvsym, REAL_DLVSYM_OFF

/* Objects loaded by dlmopen() have a C library, and an allocator, of their own: that is counted. */
#define REAL_DLMOPEN_OFF 136

    .globl dlmopen
    .type dlmopen, @function
    .p2align 4
dlmopen:
    .cfi_startproc
    CALL_ASIDE hs_slow_dlmopen
    jmp *hs_real+REAL_DLMOPEN_OFF(%rip)
    .cfi_endproc
    .size dlmopen, . - dlmopen
    .globl hs_hook_dlmopen
    .hidden hs_hook_dlmopen
    .set hs_hook_dlmopen, dlmopen

    .section .note.GNU-stack, "", @progbits
