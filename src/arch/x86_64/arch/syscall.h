/*
 * A raw system call on x86-64 Linux: it returns -errno and does not change the caller's errno.
 */
#pragma once

/* Makes the system call `number`. Returns >= 0 or -errno. */
static inline long hs_arch_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}
