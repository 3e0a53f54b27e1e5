/* A malloc that has no memory for small blocks while the program says so: preloaded, and called by
 * the program through ctypes. */
#include <stddef.h>

void *__libc_malloc(size_t bytes);

static int is_failing;

void fail_small_blocks(int does_fail);
void fail_small_blocks(int does_fail)
{
    is_failing = does_fail;
}

void *malloc(size_t bytes);
void *malloc(size_t bytes)
{
    return is_failing && bytes <= 512 ? NULL : __libc_malloc(bytes);
}
