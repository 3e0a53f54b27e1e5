/*
 * System calls that an injection makes in the process. If the process has seccomp filters, they
 * must allow these calls.
 *
 * Only arguments that are always the same are named. A filter must accept any value of the others:
 * addresses, lengths, descriptors. The lists here are those of the injection itself; callers bring
 * lists for the function that they call.
 *
 * Threads   constants.
 * See       seccomp_policy.h, docs/adr/0017-seccomp.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/seccomp/seccomp_eval.h"

struct hs_seccomp_call {
    const char *name;
    int32_t number;
    uint8_t known_args; /* bit n: args[n] always has this value */
    bool may_fail;      /* a filter may answer with an error; the caller copes with that */
    uint64_t args[HS_SECCOMP_ARGS];
};

struct hs_seccomp_calls {
    const struct hs_seccomp_call *items;
    size_t count;
};

#define HS_SECCOMP_CALLS(array) ((struct hs_seccomp_calls){ (array), HS_COUNT_OF(array) })
/* The call's name is the part after SYS_ of its number. */
#define HS_SECCOMP_CALL(call)                                                                      \
    {                                                                                              \
        .name = #call, .number = SYS_##call                                                        \
    }
#define HS_SECCOMP_MAY_FAIL(call)                                                                  \
    {                                                                                              \
        .name = #call, .number = SYS_##call, .may_fail = true                                      \
    }
#define HS_SECCOMP_FIRST(call, a)                                                                  \
    {                                                                                              \
        .name = #call, .number = SYS_##call, .known_args = 1, .args = { a }                        \
    }
#define HS_SECCOMP_SECOND(call, b)                                                                 \
    {                                                                                              \
        .name = #call, .number = SYS_##call, .known_args = 2, .args = { 0, b }                     \
    }
#define HS_SECCOMP_THIRD(call, c)                                                                  \
    {                                                                                              \
        .name = #call, .number = SYS_##call, .known_args = 4, .args = { 0, 0, c }                  \
    }
#define HS_SECCOMP_MMAP(prot, flags)                                                               \
    {                                                                                              \
        .name = "mmap", .number = SYS_mmap, .known_args = 12, .args = { 0, 0, prot, flags }        \
    }

/* The calls of any thread that is stopped and continues; of a borrowed thread; of one with a
 * scheduling boost; of one that loads a library; and those of all
 * threads with which forks are held (inject/remote_hold.h). */
extern const struct hs_seccomp_calls hs_seccomp_stop_calls;
extern const struct hs_seccomp_calls hs_seccomp_borrow_calls;
extern const struct hs_seccomp_calls hs_seccomp_boost_calls;
extern const struct hs_seccomp_calls hs_seccomp_load_calls;
extern const struct hs_seccomp_calls hs_seccomp_hold_calls;
