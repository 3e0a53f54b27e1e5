/*
 * Builds the chain of frames: see return_chain.h.
 */
#include "inject/ptrace/return_chain.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "arch/return_frame.h"
#include "rt/base.h"

#define WINDOW_BYTES 65536U
/* The longest code of syscall(3). */
#define SYSCALL_CODE_BYTES 64U
#define SIGNAL_BIT(number) (UINT64_C(1) << ((number)-1))

/* --- code ------------------------------------------------------------------------------------- */

struct search {
    uint64_t setcontext_va;
    uint64_t gadget_va;
    uint64_t starter_va;
};

static void search_window(struct search *search, const uint8_t *window, size_t bytes, uint64_t va)
{
    const uint8_t *end = window + bytes;
    const uint8_t *at = memmem(window, bytes, HS_RETURN_GADGET, HS_RETURN_GADGET_BYTES);
    if (at) {
        search->gadget_va = va + (uint64_t)(at - window);
    }
    for (at = window; at && at < end; at++) {
        at = memmem(at, (size_t)(end - at), HS_RETURN_STARTER, HS_RETURN_STARTER_BYTES);
        if (!at || end - at < (ptrdiff_t)HS_RETURN_STARTER_CODE_BYTES) {
            break;
        }
        uint64_t at_va = va + (uint64_t)(at - window);
        if (hs_return_starter_calls(at, at_va) == search->setcontext_va) {
            search->starter_va = at_va;
        }
    }
}

static bool is_keeper(const struct hs_remote_memory *memory, uint64_t va)
{
    static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
    uint8_t code[sizeof(endbr) + HS_RETURN_KEEPER_BYTES];
    if (va == 0 || hs_remote_memory_read(memory, va, code, sizeof(code)) < 0) {
        return false;
    }
    size_t at = memcmp(code, endbr, sizeof(endbr)) == 0 ? sizeof(endbr) : 0;
    return memcmp(code + at, HS_RETURN_KEEPER_CODE, HS_RETURN_KEEPER_BYTES) == 0;
}

bool hs_return_chain_find(struct hs_return_chain *chain, const struct hs_remote_memory *memory,
                          uint64_t start_va, uint64_t end_va, uint64_t keeper_va,
                          uint64_t setcontext_va)
{
    struct search search = { .setcontext_va = setcontext_va };
    const uint64_t step_bytes = WINDOW_BYTES - HS_RETURN_STARTER_CODE_BYTES;
    uint8_t *window = malloc(WINDOW_BYTES);
    if (!is_keeper(memory, keeper_va) || setcontext_va == 0) {
        end_va = start_va;
    }
    for (uint64_t va = start_va; window && va < end_va; va += step_bytes) {
        uint64_t want = end_va - va < WINDOW_BYTES ? end_va - va : WINDOW_BYTES;
        ssize_t got = hs_remote_memory_read_some(memory, va, window, want);
        if (got <= 0 || (search.gadget_va && search.starter_va)) {
            break;
        }
        search_window(&search, window, (size_t)got, va);
    }
    free(window);
    chain->keeper_va = keeper_va;
    chain->gadget_va = search.gadget_va;
    chain->starter_va = search.starter_va;
    return search.gadget_va && search.starter_va;
}

int hs_return_chain_choose_signal(uint64_t ignored, uint64_t caught)
{
    static const int harmless[] = { SIGURG, SIGWINCH, SIGCHLD };
    static const int ignorable[] = { SIGPIPE, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGIO };
    for (size_t i = 0; i < HS_COUNT_OF(harmless); i++) {
        if ((caught & SIGNAL_BIT(harmless[i])) == 0) {
            return harmless[i];
        }
    }
    for (size_t i = 0; i < HS_COUNT_OF(ignorable); i++) {
        if ((ignored & SIGNAL_BIT(ignorable[i])) != 0) {
            return ignorable[i];
        }
    }
    return SIGURG; /* if heapscope is gone, the program's handler runs once */
}

/* --- the chain -------------------------------------------------------------------------------- */

/* The chain as it lies on the stack. */
struct chain_frames {
    uint64_t notify_va[2]; /* rbx points here; the first word is the address of the context below */
    struct hs_return_context notify;
    uint8_t room[HS_RETURN_STARTER_ROOM_BYTES];
    struct hs_return_frame copy;          /* copies a descriptor into the argument of `close` */
    struct hs_return_frame close;         /* closes that descriptor */
    struct hs_return_frame restore_errno; /* restores errno from `saved` */
    struct hs_return_frame restore_sched; /* restores `attr` by sched_setattr */
    struct hs_return_frame last;
    int32_t saved[2];
    struct hs_sched_attr attr;
};
#define LINK_VA(chain, link) ((chain)->chain_va + offsetof(struct chain_frames, link))

static uint64_t reserve(uint64_t *free_va, size_t size_bytes, uint64_t align_bytes)
{
    *free_va = (*free_va - size_bytes) & ~(align_bytes - 1);
    return *free_va;
}

/* A link that calls a function, with the same signals blocked as in a call. */
static struct hs_return_frame make_call(const struct hs_return_chain *chain, uint64_t function_va,
                                        uint64_t a, uint64_t b, uint64_t c, uint64_t next_va)
{
    const uint64_t arguments[4] = { a, b, c };
    struct hs_return_frame frame = { .gadget_va = chain->gadget_va, .mask = chain->call_mask };
    hs_return_frame_call(&frame, &chain->start, function_va, arguments, next_va);
    return frame;
}

/* A link that does nothing. */
static struct hs_return_frame make_idle(const struct hs_return_chain *chain, uint64_t next_va)
{
    return make_call(chain, chain->syscall_va, SYS_getpid, 0, 0, next_va);
}

static int write_link(const struct hs_return_chain *chain, uint64_t link_va,
                      struct hs_return_frame frame)
{
    return hs_remote_memory_write(chain->memory, link_va, &frame, sizeof(frame));
}

/* The link that sends the notify signal to the thread itself. */
static void make_notify(const struct hs_return_chain *chain, struct chain_frames *frames)
{
    const uint64_t arguments[4] = { SYS_tgkill, (uint64_t)chain->own_pid, (uint64_t)chain->own_tid,
                                    (uint64_t)chain->notify_signal };
    frames->notify_va[0] = LINK_VA(chain, notify) + HS_RETURN_CONTEXT_OFF;
    frames->notify.frame.mask = chain->call_mask & ~SIGNAL_BIT(chain->notify_signal);
    hs_return_frame_call(&frames->notify.frame, &chain->start, chain->syscall_va, arguments,
                         LINK_VA(chain, copy));
    hs_return_context_call(&frames->notify, frames->notify_va[0]);
}

/* The system call that has to be restarted with its whole timeout; -1: none. */
static int64_t find_interrupted(const struct hs_return_chain *chain, bool may_restart)
{
    uint8_t code[HS_RETURN_CALL_CODE_BYTES];
    int64_t number = hs_remote_syscall(&chain->start);
    if (!hs_remote_is_interrupted(&chain->start) ||
        (hs_remote_has_eintr(&chain->start) && !may_restart)) {
        return -1;
    }
    if (number != HS_RETURN_RESTART_SYSCALL) {
        return number;
    }
    /* The call had been interrupted before, and since then the kernel continues it by
     * restart_syscall. The code before pc tells the original number. */
    int r = hs_remote_memory_read(chain->memory, hs_remote_pc(&chain->start) - sizeof(code), code,
                                  sizeof(code));
    int64_t first = r < 0 ? -1 : hs_return_number(code);
    return first < 0 ? number : first;
}

int hs_return_chain_build(struct hs_return_chain *chain, const struct hs_remote_regs *start,
                          bool may_restart, uint64_t mask, uint8_t *state, size_t state_bytes,
                          uint64_t *free_va)
{
    struct chain_frames frames = { .notify_va = { 0 } };
    state_bytes = hs_return_state_seal(state, state_bytes);
    uint64_t state_va = reserve(free_va, state_bytes, HS_RETURN_STATE_ALIGN);
    chain->start = *start;
    chain->is_awaiting_fd = false;
    chain->chain_va = reserve(free_va, sizeof(frames), 16);
    reserve(free_va, HS_RETURN_STARTER_ROOM_BYTES, 16);
    make_notify(chain, &frames);
    frames.copy = make_idle(chain, LINK_VA(chain, close));
    frames.close = make_idle(chain, LINK_VA(chain, restore_errno));
    frames.restore_errno = make_idle(chain, LINK_VA(chain, restore_sched));
    frames.restore_sched = make_idle(chain, LINK_VA(chain, last));
    hs_return_frame_last(&frames.last, start, find_interrupted(chain, may_restart));
    frames.last.gadget_va = chain->gadget_va;
    frames.last.mask = mask;
    frames.last.state_va = state_va;
    int r = hs_remote_memory_write(chain->memory, state_va, state, state_bytes);
    return r < 0 ? r
                 : hs_remote_memory_write(chain->memory, chain->chain_va, &frames, sizeof(frames));
}

void hs_return_chain_park(const struct hs_return_chain *chain, struct hs_remote_regs *regs)
{
    hs_return_frame_enter(regs, chain->gadget_va, LINK_VA(chain, copy));
}

int hs_return_chain_prepare_call(struct hs_return_chain *chain, uint64_t free_va,
                                 struct hs_remote_regs *regs, uint64_t *ret_return_va)
{
    const uint64_t steps[2] = { chain->keeper_va, chain->starter_va };
    uint64_t starter_slot_va = reserve(&free_va, 16, 16);
    hs_return_context_prepare_call(regs, LINK_VA(chain, notify_va));
    chain->kept_va = starter_slot_va - HS_RETURN_KEPT_BYTES;
    *ret_return_va = starter_slot_va - sizeof(steps[0]);
    int r = 0;
    if (chain->is_awaiting_fd && chain->copy_va != 0) {
        static const uint64_t no_result = UINT64_MAX;
        uint64_t to_va = LINK_VA(chain, close) + HS_RETURN_SECOND_OFF;
        uint64_t from_va = chain->awaited_va != 0 ? chain->awaited_va : chain->kept_va;
        /* The link below may run next without a call, and would then find this as the result. */
        r = hs_remote_memory_write(chain->memory, chain->kept_va, &no_result, sizeof(no_result));
        r = r < 0 ? r
                  : write_link(
                        chain, LINK_VA(chain, copy),
                        make_call(chain, chain->copy_va, to_va, from_va, 1, LINK_VA(chain, close)));
    }
    return r < 0 ? r : hs_remote_memory_write(chain->memory, *ret_return_va, steps, sizeof(steps));
}

bool hs_return_chain_is_at_signal(const struct hs_return_chain *chain,
                                  const struct hs_remote_regs *regs)
{
    uint64_t sp = hs_remote_sp(regs);
    return (sp == LINK_VA(chain, copy) || sp == LINK_VA(chain, restore_errno)) &&
           hs_remote_pc(regs) - chain->syscall_va < SYSCALL_CODE_BYTES;
}

int hs_return_chain_result(const struct hs_return_chain *chain, uint64_t *ret_value)
{
    return hs_remote_memory_read(chain->memory, chain->kept_va, ret_value, sizeof(*ret_value));
}

/* Sets the link to which the thread returns from the notify signal: through the two links for a
 * descriptor, or past them. */
static int set_notify_return(const struct hs_return_chain *chain, uint64_t link_va)
{
    return hs_remote_memory_write(chain->memory, LINK_VA(chain, notify.frame.rsp), &link_va,
                                  sizeof(link_va));
}

int hs_return_chain_set_fd(struct hs_return_chain *chain, int fd)
{
    uint64_t next_va = LINK_VA(chain, restore_errno);
    int r = write_link(
        chain, LINK_VA(chain, close),
        fd < 0 ? make_idle(chain, next_va)
               : make_call(chain, chain->syscall_va, SYS_close, (uint32_t)fd, 0, next_va));
    if (r == 0 && chain->is_awaiting_fd) {
        chain->is_awaiting_fd = false;
        r = write_link(chain, LINK_VA(chain, copy), make_idle(chain, LINK_VA(chain, close)));
    }
    return r < 0 ? r : set_notify_return(chain, LINK_VA(chain, copy));
}

int hs_return_chain_hand_over_fd(const struct hs_return_chain *chain)
{
    return set_notify_return(chain, LINK_VA(chain, restore_errno));
}

int hs_return_chain_await_fd(struct hs_return_chain *chain, uint64_t fd_va)
{
    chain->is_awaiting_fd = true;
    chain->awaited_va = fd_va;
    return write_link(chain, LINK_VA(chain, close),
                      make_call(chain, chain->syscall_va, SYS_close, UINT32_MAX, 0,
                                LINK_VA(chain, restore_errno)));
}

int hs_return_chain_set_errno(const struct hs_return_chain *chain, uint64_t errno_va, int32_t value)
{
    if (chain->copy_va == 0) {
        return 0;
    }
    int r = hs_remote_memory_write(chain->memory, LINK_VA(chain, saved), &value, sizeof(value));
    return r < 0 ? r
                 : write_link(chain, LINK_VA(chain, restore_errno),
                              make_call(chain, chain->copy_va, errno_va, LINK_VA(chain, saved), 1,
                                        LINK_VA(chain, restore_sched)));
}

int hs_return_chain_set_attributes(const struct hs_return_chain *chain,
                                   const struct hs_sched_attr *attr)
{
    int r = hs_remote_memory_write(chain->memory, LINK_VA(chain, attr), attr, sizeof(*attr));
    return r < 0 ? r
                 : write_link(chain, LINK_VA(chain, restore_sched),
                              make_call(chain, chain->syscall_va, SYS_sched_setattr, 0,
                                        LINK_VA(chain, attr), LINK_VA(chain, last)));
}
