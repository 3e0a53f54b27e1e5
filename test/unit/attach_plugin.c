/* A library that test_attach.c loads after it has attached to the program. */
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
