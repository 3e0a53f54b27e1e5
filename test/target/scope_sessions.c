/* Allocates in an open scope, once for each line that it reads: in another session each time. */
#include <heapscope/heapscope.h>

#include <stdio.h>
#include <stdlib.h>

void *blocks[8]; /* not static: the compiler keeps what is stored there */

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    heapscope_scope_begin("outer");
    for (unsigned i = 0; i < 4; i += 2) {
        blocks[i] = malloc(3001 + i);
        heapscope_scope_begin(i == 0 ? "first" : "second");
        blocks[i + 1] = malloc(3002 + i);
        heapscope_scope_end();
        putchar('.');
        if (getchar() == EOF) {
            return 1;
        }
    }
    return 0;
}
