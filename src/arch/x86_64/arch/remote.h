/*
 * The registers of a stopped thread of another process on x86-64 Linux: what the thread was doing,
 * and how to make it call a function.
 *
 * Where that function returns to is described in return_frame.h.
 *
 * An interrupted system call has left its number in orig_rax and one of the ERESTART codes in rax.
 * When the thread goes on, the kernel looks at both, and restarts the call or continues it. So
 * orig_rax is -1 while the thread runs on our behalf, and both are restored in the end.
 *
 * Threads   pure functions.
 */
#pragma once

#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "arch/regs.h"

#define HS_REMOTE_MACHINE    EM_X86_64
#define HS_REMOTE_AUDIT_ARCH AUDIT_ARCH_X86_64
/* The floating point and vector registers: all those that XSAVE saves. 11 KiB with AMX. */
#define HS_REMOTE_STATE_NOTE      NT_X86_XSTATE
#define HS_REMOTE_STATE_BYTES_MAX 32768U
/* Memory below sp that is in use. */
#define HS_REMOTE_RED_ZONE_BYTES 128U
#define HS_REMOTE_ARGUMENTS_MAX  6U
/* Waiting system calls that exist only on older architectures, such as this one. */
#define HS_REMOTE_OLD_WAITS { SYS_poll, 0 }, { SYS_select, 0 }, { SYS_pause, 0 }, { SYS_accept, 0 },
#define HS_REMOTE_OLD_EPOLL { SYS_epoll_wait, 4 },

/* A stopped thread's registers. */
struct hs_remote_regs {
    struct user_regs_struct cpu;
};

/* Codes internal to the kernel, which no program sees. */
#define HS_REMOTE_ERESTARTSYS    512
#define HS_REMOTE_ERESTARTNOHAND 514
#define HS_REMOTE_ERESTART_LAST  516 /* ERESTART_RESTARTBLOCK */

/* The system call that the thread is in, or has just left; -1: none. */
static inline int64_t hs_remote_syscall(const struct hs_remote_regs *regs)
{
    return (int64_t)regs->cpu.orig_rax < 0 ? -1 : (int64_t)regs->cpu.orig_rax;
}

/* The program counter. */
static inline uint64_t hs_remote_pc(const struct hs_remote_regs *regs)
{
    return regs->cpu.rip;
}

/* The stack pointer. */
static inline uint64_t hs_remote_sp(const struct hs_remote_regs *regs)
{
    return regs->cpu.rsp;
}

/* Where libc keeps its data about the thread. */
static inline uint64_t hs_remote_thread_va(const struct hs_remote_regs *regs)
{
    return regs->cpu.fs_base;
}

/* Does the thread run 64-bit code? A 64-bit process may run other code too. */
static inline bool hs_remote_is_native(const struct hs_remote_regs *regs)
{
    return regs->cpu.cs == 0x33;
}

/* Has the system call ended with EINTR, after which the kernel does not restart it by itself? */
static inline bool hs_remote_has_eintr(const struct hs_remote_regs *regs)
{
    return hs_remote_syscall(regs) >= 0 && (int64_t)regs->cpu.rax == -EINTR;
}

/* Is the thread in the middle of a system call, and not just behind one? */
static inline bool hs_remote_is_interrupted(const struct hs_remote_regs *regs)
{
    int64_t result = -(int64_t)regs->cpu.rax;
    return hs_remote_syscall(regs) >= 0 && (result == EINTR || (result >= HS_REMOTE_ERESTARTSYS &&
                                                                result <= HS_REMOTE_ERESTART_LAST));
}

/* Would the kernel continue the system call by restart_syscall(2)? */
static inline bool hs_remote_has_restart_block(const struct hs_remote_regs *regs)
{
    return hs_remote_syscall(regs) >= 0 &&
           (int64_t)regs->cpu.rax == -(int64_t)HS_REMOTE_ERESTART_LAST;
}

/* Makes the kernel restart the system call, unless a signal handler runs first. */
static inline void hs_remote_restart(struct hs_remote_regs *regs)
{
    regs->cpu.rax = (uint64_t) - (int64_t)HS_REMOTE_ERESTARTNOHAND;
}

/* The fourth argument of the system call. */
static inline uint64_t hs_remote_fourth(const struct hs_remote_regs *regs)
{
    return regs->cpu.r10;
}

/* Sets the fourth argument of the system call. */
static inline void hs_remote_set_fourth(struct hs_remote_regs *regs, uint64_t value)
{
    regs->cpu.r10 = value;
}

/* Makes *regs those of a thread that has just called `function_va`. The return address is at
 * `return_va`, 8 below a multiple of 16; the caller writes it. */
static inline void hs_remote_enter(struct hs_remote_regs *regs, uint64_t function_va,
                                   uint64_t return_va,
                                   const uint64_t arguments[HS_REMOTE_ARGUMENTS_MAX])
{
    regs->cpu.rip = function_va;
    regs->cpu.rsp = return_va;
    regs->cpu.rbp = 0; /* ends a chain of frame pointers */
    regs->cpu.rax = 0;
    regs->cpu.orig_rax = UINT64_MAX;
    regs->cpu.rdi = arguments[0];
    regs->cpu.rsi = arguments[1];
    regs->cpu.rdx = arguments[2];
    regs->cpu.rcx = arguments[3];
    regs->cpu.r8 = arguments[4];
    regs->cpu.r9 = arguments[5];
    /* Without direction, single-step and alignment-check flags. */
    regs->cpu.eflags &= ~UINT64_C(0x40500);
}

/* How many bytes hs_remote_errno_slot reads. */
#define HS_REMOTE_ERRNO_CODE_BYTES 21U

/* Recognizes glibc's __errno_location in its usual compiled form: mov slot(%rip),%rax; add
 * %fs:0,%rax; ret. Returns the slot's address. The slot holds the distance of errno from
 * hs_remote_thread_va(). 0: other code. */
static inline uint64_t hs_remote_errno_slot(const uint8_t code[HS_REMOTE_ERRNO_CODE_BYTES],
                                            uint64_t va)
{
    static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
    static const uint8_t mov[] = { 0x48, 0x8b, 0x05 };
    static const uint8_t add[] = { 0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0, 0xc3 };
    unsigned at = memcmp(code, endbr, sizeof(endbr)) == 0 ? sizeof(endbr) : 0;
    int32_t off;
    if (memcmp(code + at, mov, sizeof(mov)) != 0 || memcmp(code + at + 7, add, sizeof(add)) != 0) {
        return 0;
    }
    memcpy(&off, code + at + 3, sizeof(off));
    return va + at + 7 + (uint64_t)(int64_t)off;
}

/* The registers that a walk starts with. */
static inline struct hs_regs hs_remote_unwind_regs(const struct hs_remote_regs *regs)
{
    return (struct hs_regs){ .pc = regs->cpu.rip,
                             .sp = regs->cpu.rsp,
                             .bp = regs->cpu.rbp,
                             .bx = regs->cpu.rbx,
                             .r12 = regs->cpu.r12,
                             .r13 = regs->cpu.r13,
                             .r14 = regs->cpu.r14,
                             .r15 = regs->cpu.r15 };
}
