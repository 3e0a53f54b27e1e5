/*
 * Patterns of x86-64 machine code that the unwinder has to recognize.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The length of the longest code that a signal trampoline consists of. */
#define HS_ARCH_SIGRETURN_BYTES_MAX 9U
/* The longest call: call *disp32(base, index). */
#define HS_ARCH_CALL_BYTES_MAX 7U

/* Is the code mov $15,%eax (or %rax); syscall, that is, rt_sigreturn? `code` has `size_bytes`. */
static inline bool hs_arch_is_sigreturn(const uint8_t *code, uint64_t size_bytes)
{
    static const uint8_t rax[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    static const uint8_t eax[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    return (size_bytes >= sizeof(rax) && memcmp(code, rax, sizeof(rax)) == 0) ||
           (size_bytes >= sizeof(eax) && memcmp(code, eax, sizeof(eax)) == 0);
}

/* Is the instruction that ends at `end` a call? True also when other bytes look like one. Reads the
 * HS_ARCH_CALL_BYTES_MAX bytes before `end`. */
static inline bool hs_arch_is_after_call(const uint8_t *end)
{
    /* Lengths of a call through a register or memory. */
    static const uint8_t lengths[] = { 2, 3, 4, 6, 7 };
    if (end[-5] == 0xe8) {
        return true;
    }
    for (unsigned i = 0; i < sizeof(lengths); i++) {
        const uint8_t *insn = end - lengths[i];
        if (insn[0] == 0xff && (insn[1] & 0x38) == 0x10) {
            return true;
        }
    }
    return false;
}
