/*
 * Like works.c, but allocates through a function that is generated at run time, whose name is only
 * in /tmp/perf-PID.map.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *volatile kept;

__attribute__((noinline)) static void work_on(void)
{
    free(kept);
    kept = malloc(10000);
}

int main(void)
{
#if defined(__x86_64__)
    /* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
    static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
#elif defined(__aarch64__)
    /* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
    static const unsigned code[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0 };
#endif
    void *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*call)(void (*)(void));
    if (page == MAP_FAILED) {
        return 1;
    }
    memcpy(page, code, sizeof(code));
    __builtin___clear_cache((char *)page, (char *)page + sizeof(code));
    memcpy(&call, &page, sizeof(call));
    for (unsigned i = 0;; i++) {
        call(work_on);
        if (i == 100) {
            puts("works");
            fflush(stdout);
        }
        usleep(500);
    }
}
