/*
 * What is allocated in scopes, step by step: a snapshot after each of five steps. Step i allocates
 * i + 1 blocks of 1000 bytes in "even" or "odd", at one place, and frees all of them but one. In
 * the last step nothing is allocated in a scope.
 */
#include <heapscope/heapscope.h>

#include <stdio.h>
#include <stdlib.h>

static void *kept[8];

static __attribute__((noinline)) void allocate(int count)
{
    for (int i = 0; i < count; i++) {
        free(kept[count]);
        kept[count] = malloc(1000);
    }
}

int main(void)
{
    char name[] = "step 0";
    for (int step = 0; step < 5; step++, name[5]++) {
        if (step < 4) {
            heapscope_scope_begin(step % 2 ? "odd" : "even");
        }
        allocate(step + 1);
        heapscope_scope_end(); /* does nothing if none is open */
        if (heapscope_take_snapshot(name) != 0) {
            return 1;
        }
    }
    return 0;
}
