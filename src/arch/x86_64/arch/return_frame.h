/*
 * The sigreturn frame: what rt_sigreturn takes from the stack on x86-64 Linux, namely all registers
 * of a thread and its signal mask, at once. With such a frame above its return address, a function
 * returns to wherever the frame says.
 *
 * The layout is part of the kernel's ABI: the address of libc's code that makes the system call,
 * then struct ucontext. The kernel finds the frame by sp, which is then right behind that address.
 * The vector registers lie elsewhere, where `state_va` says.
 *
 * A frame can also make a thread call a function and continue from there with the next frame:
 * frames are links of a chain (the return chain).
 *
 * rt_sigreturn discards the remaining time of an interrupted system call. If that may still be
 * needed, the chain is entered by setcontext(3), which uses most of the same struct: it loads what
 * a call needs, and discards nothing.
 *
 * Threads   pure functions.
 */
#pragma once

#include <assert.h>
#include <cpuid.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arch/remote.h"

/* The kernel's frame. */
struct hs_return_frame {
    uint64_t gadget_va; /* address of code that calls rt_sigreturn */
    uint64_t flags;
    uint64_t link_va;
    uint64_t stack_va; /* the alternate stack; an impossible `stack_flags` leaves it unchanged */
    uint64_t stack_flags;
    uint64_t stack_bytes;
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15;
    uint64_t rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
    uint16_t cs, gs, fs, ss;
    uint64_t error, trap, old_mask, fault_va;
    uint64_t state_va; /* 0: as in a new thread */
    uint64_t reserved[8];
    uint64_t mask;
};
static_assert(sizeof(struct hs_return_frame) == 312, "the kernel's layout");

/* Offset of a call's second argument. */
#define HS_RETURN_SECOND_OFF offsetof(struct hs_return_frame, rsi)

/* struct ucontext as setcontext(3) expects it; its address is that of frame.flags. */
struct hs_return_context {
    struct hs_return_frame frame;
    uint8_t more_mask[120];
    uint32_t x87[6];
    uint32_t mxcsr;
};
#define HS_RETURN_CONTEXT_OFF offsetof(struct hs_return_frame, flags)
static_assert(offsetof(struct hs_return_context, mxcsr) == HS_RETURN_CONTEXT_OFF + 448,
              "glibc's layout");

/* mov $15,%rax; syscall: all C libraries have exactly this code, because debuggers recognize frames
 * by it. */
#define HS_RETURN_GADGET       "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
#define HS_RETURN_GADGET_BYTES 9U

/* The code to which functions of makecontext(3) return in glibc: mov %rbx,%rsp; mov (%rsp),%rdi;
 * test %rdi,%rdi; je; call setcontext. rbx is callee-saved, so it survives the function. */
#define HS_RETURN_STARTER            "\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff\x74"
#define HS_RETURN_STARTER_BYTES      11U
#define HS_RETURN_STARTER_CALL_OFF   12U
#define HS_RETURN_STARTER_CODE_BYTES 17U
/* Stack that setcontext needs below the address of a context. */
#define HS_RETURN_STARTER_ROOM_BYTES 64U

/* glibc's __fentry__ saves rax at the end of the 64 bytes below its return address, and returns
 * with no register changed: sub $64,%rsp; mov %rax,(%rsp). There a result survives setcontext. */
#define HS_RETURN_KEEPER         "__fentry__"
#define HS_RETURN_KEEPER_CODE    "\x48\x83\xec\x40\x48\x89\x04\x24"
#define HS_RETURN_KEEPER_BYTES   8U
#define HS_RETURN_KEPT_BYTES     64U

#define HS_RETURN_FLAGS          7U /* XSAVE's layout, and ss is taken from here */
#define HS_RETURN_NO_STACK_FLAGS 0x7fffU
#define HS_RETURN_EFLAGS         0x202U
#define HS_RETURN_STATE_ALIGN    64U
#define HS_RETURN_STATE_MAGIC    0x46505853U
#define HS_RETURN_STATE_END      0x46505845U
#define HS_RETURN_AMX            (UINT64_C(3) << 17)

/* Fills a frame with which the thread calls `function_va`, and continues with the frame at
 * `next_va`. `regs`: of that thread. */
static inline void hs_return_frame_call(struct hs_return_frame *frame,
                                        const struct hs_remote_regs *regs, uint64_t function_va,
                                        const uint64_t arguments[4], uint64_t next_va)
{
    frame->flags = HS_RETURN_FLAGS;
    frame->stack_flags = HS_RETURN_NO_STACK_FLAGS;
    frame->rip = function_va;
    frame->rsp = next_va;
    frame->rdi = arguments[0];
    frame->rsi = arguments[1];
    frame->rdx = arguments[2];
    frame->rcx = arguments[3];
    frame->eflags = HS_RETURN_EFLAGS;
    frame->cs = (uint16_t)regs->cpu.cs;
    frame->ss = (uint16_t)regs->cpu.ss;
}

/* Bytes of code around an interrupted system call, up to the pc behind it. */
#define HS_RETURN_CALL_CODE_BYTES 18U
#define HS_RETURN_RESTART_SYSCALL SYS_restart_syscall

/* The number of the system call that this code makes: mov $NUMBER,%eax; some more; syscall. Looks
 * only for those whose remaining time the kernel keeps. -1: not found. */
static inline int64_t hs_return_number(const uint8_t code[HS_RETURN_CALL_CODE_BYTES])
{
    static const uint32_t numbers[] = { SYS_nanosleep, SYS_clock_nanosleep, SYS_poll, SYS_futex };
    for (unsigned at = HS_RETURN_CALL_CODE_BYTES - 6; at-- > 0;) {
        uint32_t number;
        memcpy(&number, code + at + 1, sizeof(number));
        for (unsigned i = 0; code[at] == 0xb8 && i < sizeof(numbers) / sizeof(numbers[0]); i++) {
            if (number == numbers[i]) {
                return number;
            }
        }
    }
    return -1;
}

/* Fills a frame with which the thread is back where `regs` says. The kernel does not restart an
 * interrupted system call for a thread that returns this way. So, unless `number` is -1, the
 * instruction before `pc` is executed once more, with this system call number. */
static inline void hs_return_frame_last(struct hs_return_frame *frame,
                                        const struct hs_remote_regs *regs, int64_t number)
{
    const struct user_regs_struct *cpu = &regs->cpu;
    *frame = (struct hs_return_frame){
        .flags = HS_RETURN_FLAGS,
        .stack_flags = HS_RETURN_NO_STACK_FLAGS,
        .r8 = cpu->r8,
        .r9 = cpu->r9,
        .r10 = cpu->r10,
        .r11 = cpu->r11,
        .r12 = cpu->r12,
        .r13 = cpu->r13,
        .r14 = cpu->r14,
        .r15 = cpu->r15,
        .rdi = cpu->rdi,
        .rsi = cpu->rsi,
        .rbp = cpu->rbp,
        .rbx = cpu->rbx,
        .rdx = cpu->rdx,
        .rcx = cpu->rcx,
        .rax = number >= 0 ? (uint64_t)number : cpu->rax,
        .rsp = cpu->rsp,
        .rip = cpu->rip - (number >= 0 ? 2 : 0),
        .eflags = cpu->eflags,
        .cs = (uint16_t)cpu->cs,
        .ss = (uint16_t)cpu->ss,
    };
}

/* Completes a context for setcontext, at `context_va`. */
static inline void hs_return_context_call(struct hs_return_context *context, uint64_t context_va)
{
    static const uint32_t x87[] = { 0xffff037f, 0xffff0000, 0xffffffff, 0, 0, 0 };
    memcpy(context->x87, x87, sizeof(x87));
    context->mxcsr = 0x1f80;
    context->frame.state_va = context_va + 424;
}

/* A function that is called now returns to the starter code; `slot_va` holds the context's
 * address. */
static inline void hs_return_context_prepare_call(struct hs_remote_regs *regs, uint64_t slot_va)
{
    regs->cpu.rbx = slot_va;
}

/* The function that the starter's call leads to. 0: this is other code. */
static inline uint64_t hs_return_starter_calls(const uint8_t code[HS_RETURN_STARTER_CODE_BYTES],
                                               uint64_t va)
{
    int32_t off;
    if (memcmp(code, HS_RETURN_STARTER, HS_RETURN_STARTER_BYTES) != 0 ||
        code[HS_RETURN_STARTER_CALL_OFF] != 0xe8) {
        return 0;
    }
    memcpy(&off, code + HS_RETURN_STARTER_CALL_OFF + 1, sizeof(off));
    return va + HS_RETURN_STARTER_CODE_BYTES + (uint64_t)(int64_t)off;
}

/* Makes *regs those of a thread that is about to return to the frame at `frame_va`, without calling
 * a function. */
static inline void hs_return_frame_enter(struct hs_remote_regs *regs, uint64_t gadget_va,
                                         uint64_t frame_va)
{
    regs->cpu.rip = gadget_va;
    regs->cpu.rsp = frame_va + 8;
    regs->cpu.orig_rax = UINT64_MAX;
    regs->cpu.eflags = HS_RETURN_EFLAGS;
}

/* Marks the vector registers that ptrace returned as rt_sigreturn expects them. `state` has room
 * for 4 more bytes. Returns how many bytes belong to it. */
static inline size_t hs_return_state_seal(uint8_t *state, size_t state_bytes)
{
    uint64_t features, in_use;
    uint32_t a, b, c, d, end = HS_RETURN_STATE_END;
    size_t bytes = 576;
    if (state_bytes < bytes) {
        return state_bytes; /* no XSAVE: nothing is marked */
    }
    memcpy(&features, state + 464, sizeof(features));
    memcpy(&in_use, state + 512, sizeof(in_use));
    /* A thread that never used AMX has no room for it. */
    features &= (in_use & HS_RETURN_AMX) != 0 ? ~UINT64_C(0) : ~HS_RETURN_AMX;
    for (unsigned i = 2; i < 63; i++) {
        if ((features >> i & 1) != 0 && __get_cpuid_count(13, i, &a, &b, &c, &d) && a > 0 &&
            (c & 1) == 0 && (size_t)b + a <= state_bytes) {
            bytes = (size_t)b + a > bytes ? (size_t)b + a : bytes;
        }
    }
    const struct {
        uint32_t magic, all_bytes;
        uint64_t features;
        uint32_t bytes, unused;
    } mark = { HS_RETURN_STATE_MAGIC, (uint32_t)bytes + 4, features, (uint32_t)bytes, 0 };
    memcpy(state + 464, &mark, sizeof(mark));
    memcpy(state + bytes, &end, sizeof(end));
    return bytes + sizeof(end);
}
