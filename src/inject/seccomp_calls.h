/*
 * System calls that somebody will make in a process with seccomp filters, and that these must therefore allow.
 *
 * Only arguments that are always the same are named; of the others, addresses and lengths and descriptors, a filter
 * must take any. Whose calls they are, says the caller: here are those of an injection itself.
 *
 * Threads   constants.
 * See       seccomp_policy.h, docs/adr/0017-seccomp.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/seccomp_eval.h"

struct hs_seccomp_call {
    const char *name;
    int32_t number;
    uint8_t known_args; /* bit n: args[n] is always this */
    bool may_fail;      /* with an error, not more: who makes it does without */
    uint64_t args[HS_SECCOMP_ARGS];
};

struct hs_seccomp_calls {
    const struct hs_seccomp_call *items;
    size_t count;
};

#define HS_SECCOMP_CALLS(array) ((struct hs_seccomp_calls){ (array), HS_COUNT_OF(array) })
/* Its name is that of the kernel's number. */
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

/* Of any thread that is stopped and goes on; of one that is borrowed; if it hurries; and if it loads a library there. */
extern const struct hs_seccomp_calls hs_seccomp_stop_calls;
extern const struct hs_seccomp_calls hs_seccomp_borrow_calls;
extern const struct hs_seccomp_calls hs_seccomp_boost_calls;
extern const struct hs_seccomp_calls hs_seccomp_load_calls;
