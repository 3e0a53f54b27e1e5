/*
 * Finds out what a seccomp filter says about a system call, without making the call.
 *
 * The filter is a classic BPF program over struct seccomp_data: sixteen words. Of a call that will
 * be made later only some words are known: its number and a few arguments, but not addresses,
 * lengths, descriptors, or the address of the instruction. What is computed from an unknown word is
 * unknown. Where a jump depends on an unknown value, both branches are followed. The answer is the
 * strictest one at the end of any path. So if it allows a call, the filter allows that call for all
 * values of the unknown words.
 *
 * Holds     jumps only go forward, so each path ends; a step limit bounds the number of paths.
 * Trust     the program is hostile: any instruction, jumps to anywhere, no return at the end.
 * Threads   pure functions.
 * Fails     false: the kernel would not have accepted the program, or it has too many paths.
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
/* The kernel's limits: instructions of all filters of a thread together, and of one filter. */
#define HS_SECCOMP_INSNS_MAX  32768U
#define HS_SECCOMP_FILTER_MAX 4096U

struct hs_seccomp_input {
    uint32_t words[HS_SECCOMP_WORDS]; /* struct seccomp_data, as the program loads it */
    uint16_t known;                   /* bit n: words[n] is known */
};

/* Describes a call: args[n] has this value where bit n of `known_args` is set, and any value
 * elsewhere. */
struct hs_seccomp_input hs_seccomp_input_of(uint32_t arch, int64_t number,
                                            const uint64_t args[HS_SECCOMP_ARGS],
                                            unsigned known_args);

/* Evaluates one filter. *ret_result is SECCOMP_RET_... with its data. False: see Fails. */
bool hs_seccomp_eval(const struct sock_filter *code, size_t count,
                     const struct hs_seccomp_input *input, uint32_t *ret_result);

/* Of the answers of an older and a newer filter, the one that the kernel follows. */
uint32_t hs_seccomp_stricter(uint32_t older, uint32_t newer);
