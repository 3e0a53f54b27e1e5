/*
 * Fuzz target: a seccomp filter of a foreign process, and what is known about a system call.
 *
 * The input: sixteen words of struct seccomp_data, two bytes that say which of them are known, then
 * instructions.
 */
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inject/seccomp/seccomp_eval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Knowing less must not make the answer more lenient. */
static void check(const struct sock_filter *code, size_t count, struct hs_seccomp_input input)
{
    uint32_t careful = 0, exact = 0;
    bool is_careful = hs_seccomp_eval(code, count, &input, &careful);
    input.known = HS_SECCOMP_ALL_KNOWN;
    bool is_exact = hs_seccomp_eval(code, count, &input, &exact);
    if (is_careful &&
        (!is_exact || (hs_seccomp_stricter(exact, careful) & SECCOMP_RET_ACTION_FULL) !=
                          (careful & SECCOMP_RET_ACTION_FULL))) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sock_filter code[HS_SECCOMP_FILTER_MAX + 1];
    struct hs_seccomp_input input;
    const size_t head_bytes = sizeof(input.words) + sizeof(input.known);
    if (size < head_bytes) {
        return 0;
    }
    memcpy(input.words, data, sizeof(input.words));
    memcpy(&input.known, data + sizeof(input.words), sizeof(input.known));
    size_t count = (size - head_bytes) / sizeof(code[0]);
    count = count > HS_SECCOMP_FILTER_MAX + 1 ? HS_SECCOMP_FILTER_MAX + 1 : count;
    memcpy(code, data + head_bytes, count * sizeof(code[0]));
    check(code, count, input);
    return 0;
}
