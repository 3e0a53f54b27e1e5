/* Allocates until another process stops it. A line on standard input starts it. */
#include "truth.h"

SITE(site_hungry, malloc(n))
SITE(site_crumbs, calloc(1, n))

int main(void)
{
    char line[16];
    printf("%d\n", (int)getpid());
    fflush(stdout);
    if (!fgets(line, sizeof(line), stdin)) {
        return 0;
    }
    for (size_t i = 0;; i++) {
        char *p = site_hungry(50000 + i % 1000);
        if (p) {
            memset(p, 1, 50000);
        }
        site_crumbs(i % 100 + 1);
    }
}
