/*
 * A block in each of so many scopes with names of their own: more than there is room for, or fewer.
 *
 *     scope_many COUNT
 */
#include <heapscope/heapscope.h>

#include <stdio.h>
#include <stdlib.h>

void *volatile kept; /* not static: the compiler keeps what is stored there */

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "scope %d", i);
        heapscope_scope_begin(name);
        kept = malloc(100);
        heapscope_scope_end();
    }
    return 0;
}
