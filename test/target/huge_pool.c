/*
 * Fills huge pages of the system's pool: huge_pool. It maps 4 MiB for itself and 2 MiB that a child
 * would share, prints "ready", or "none" when the pool has not so many, and waits for its standard
 * input to end.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static int fill(size_t bytes, int flags)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (p == MAP_FAILED) {
        return 0;
    }
    memset(p, 1, bytes);
    return 1;
}

int main(void)
{
    int is_ready = fill(4UL << 20, MAP_PRIVATE) && fill(2UL << 20, MAP_SHARED);
    printf("%s\n", is_ready ? "ready" : "none");
    fflush(stdout);
    return getchar() == EOF ? 0 : 2;
}
