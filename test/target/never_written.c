/* Blocks of which a test knows what was written. Ends with its standard input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

enum { MIB = 1 << 20, PAGE = 4096 };

static char *kept[16];
static int count;

static void keep(const char *name, void *block, size_t size_bytes)
{
    kept[count++] = block;
    printf("%s %p %zu\n", name, block, size_bytes);
}

/* Each is a mapping of its own, whose first page begins 16 bytes before the block. */
__attribute__((noinline)) static void make_untouched(void)
{
    keep("untouched", malloc(MIB), MIB);
    keep("cleared", calloc(1, MIB), MIB);
}

/* The first half was written, the other was not. */
__attribute__((noinline)) static void make_half(void)
{
    char *block = malloc(MIB);
    memset(block, 'h', MIB / 2);
    keep("half", block, MIB);
}

/* All was written: with zeros, but for the first byte of every second word. */
__attribute__((noinline)) static void make_sparse(void)
{
    char *block = malloc(MIB);
    memset(block, 0, MIB);
    for (int i = 0; i < MIB; i += 16) {
        block[i] = 's';
    }
    keep("sparse", block, MIB);
}

__attribute__((noinline)) static void make_zeros(void)
{
    char *block = malloc(MIB);
    memset(block, 0, MIB);
    keep("zeros", block, MIB);
}

/* All was written, and 8 of its pages were given back. */
__attribute__((noinline)) static void make_given_back(void)
{
    char *block = malloc(MIB);
    memset(block, 'g', MIB);
    madvise(block - 16 + (size_t)16 * PAGE, (size_t)8 * PAGE, MADV_DONTNEED);
    keep("given_back", block, MIB);
}

/* Two pages in a block larger than what is read at once. */
__attribute__((noinline)) static void make_large(void)
{
    size_t size_bytes = (size_t)300 * MIB;
    char *block = malloc(size_bytes);
    block[(size_t)100 * MIB] = 'l';
    keep("large", block, size_bytes);
}

int main(void)
{
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* a huge page has memory as a whole */
    make_untouched();
    make_half();
    make_sparse();
    make_zeros();
    make_given_back();
    make_large();
    puts("ready");
    fflush(stdout);
    getchar();
    for (int i = 0; i < count; i++) {
        free(kept[i]);
    }
    return 0;
}
