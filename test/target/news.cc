/*
 * C++'s operators, for test_attach_inline.py. Executes commands, one word per line on standard
 * input, and answers "ok".
 *
 *     work      new and delete in all forms; keeps some of the blocks
 */
#include <new>

#include "truth.h"

#define WIDE std::align_val_t(64)

SITE(site_new, ::operator new(n))
SITE(site_array, ::operator new[](n))
SITE(site_nothrow, ::operator new(n, std::nothrow))
SITE(site_wide, ::operator new(n, WIDE))

static void work()
{
    for (size_t n = 1; n <= 300; n++) {
        void *p = site_new(n);
        if (n % 2) {
            SITE_LOST(site_new, n);
            ::operator delete(p);
        }
        p = site_array(n * 2);
        if (n % 3) {
            SITE_LOST(site_array, n * 2);
            ::operator delete[](p, n * 2);
        }
        p = site_nothrow(n * 3);
        if (n % 4) {
            SITE_LOST(site_nothrow, n * 3);
            ::operator delete(p, std::nothrow);
        }
        p = site_wide(n * 4);
        if (n % 5) {
            SITE_LOST(site_wide, n * 4);
            ::operator delete(p, WIDE);
        }
    }
}

int main()
{
    char line[64];
    while (fgets(line, sizeof(line), stdin)) {
        if (strcmp(line, "work\n") == 0) {
            work();
        }
        printf("ok\n");
        fflush(stdout);
    }
    return 0;
}
