/*
 * Fills memory that the kernel may put into huge pages: huge_pages. It prints "ready" when the
 * kernel has made one, and otherwise "none"; then it waits for its standard input to end.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_BYTES  (2UL << 20)
#define TOTAL_BYTES (16UL << 20)

static int has_huge_pages(void)
{
    char line[256];
    unsigned long kib, sum = 0;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof(line), file)) {
        sum += sscanf(line, "AnonHugePages: %lu kB", &kib) == 1 ? kib : 0;
    }
    if (file) {
        fclose(file);
    }
    return sum > 0;
}

int main(void)
{
    char *p = mmap(NULL, TOTAL_BYTES + HUGE_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return 1;
    }
    p += -(uintptr_t)p % HUGE_BYTES;
    int r = madvise(p, TOTAL_BYTES, MADV_HUGEPAGE);
    memset(p, 1, TOTAL_BYTES);
    printf("%s\n", r == 0 && has_huge_pages() ? "ready" : "none");
    fflush(stdout);
    return getchar() == EOF ? 0 : 2;
}
