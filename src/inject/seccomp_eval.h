/*
 * What a seccomp filter says of a system call, found out without making it.
 *
 * The program is classic BPF over struct seccomp_data: sixteen words. Of a call that somebody may make later only some are
 * known: its number and a few arguments, not addresses, lengths, descriptors, or where the instruction is. A word that is
 * not known makes unknown what is computed from it; where the program's way depends on that, both ways are gone. The answer
 * is the strictest at the end of any: what it allows, is allowed for all values.
 *
 * Holds     jumps go forward only, so each way ends; how many there are is bounded by steps.
 * Trust     the program is hostile: any code, jumps to anywhere, without an end.
 * Threads   pure functions.
 * Fails     false: it is no program that the kernel would have taken, or its ways are too many.
 * See       seccomp(2), kernel/seccomp.c, net/core/filter.c
 */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HS_SECCOMP_WORDS     16U
#define HS_SECCOMP_ALL_KNOWN UINT16_MAX
#define HS_SECCOMP_ARGS      6U
/* All filters of a thread together, says the kernel. */
#define HS_SECCOMP_INSNS_MAX  32768U
#define HS_SECCOMP_FILTER_MAX 4096U

struct hs_seccomp_input {
    uint32_t words[HS_SECCOMP_WORDS]; /* struct seccomp_data, as the program loads it */
    uint16_t known;                   /* bit n: words[n] is */
};

/* A call: `args` whose bit in `known_args` is set have that value, others may have any. */
struct hs_seccomp_input hs_seccomp_input_of(uint32_t arch, int64_t number,
                                            const uint64_t args[HS_SECCOMP_ARGS],
                                            unsigned known_args);

/* One filter. *ret_result: SECCOMP_RET_... with its data. */
bool hs_seccomp_eval(const struct sock_filter *code, size_t count,
                     const struct hs_seccomp_input *input, uint32_t *ret_result);

/* The one that the kernel follows, of what an older filter and a newer one say. */
uint32_t hs_seccomp_stricter(uint32_t older, uint32_t newer);
