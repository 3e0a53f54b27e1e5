/*
 * A library that is loaded after somebody has attached to the program: see test_attach.c.
 */
#include <stdlib.h>

void *plugin_make(size_t size_bytes);
void *plugin_make(size_t size_bytes)
{
    char *block = malloc(size_bytes);
    if (block) {
        block[0] = 1;
    }
    return block;
}
