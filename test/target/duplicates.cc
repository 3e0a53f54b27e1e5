// Blocks whose duplicates a test knows, from two places. Ends with its standard input.
#include <cstdio>
#include <cstdlib>
#include <cstring>

static char *kept[1000];
static int count;

// A wrapper: its callers are blamed.
__attribute__((noinline)) static char *xmalloc(size_t bytes)
{
    return kept[count++] = static_cast<char *>(malloc(bytes));
}

// 50 equal blocks of 1000 bytes, and 10 that differ in the last byte.
__attribute__((noinline)) static void read_configs()
{
    for (int i = 0; i < 60; i++) {
        memset(xmalloc(1000), 'c', 1000);
        kept[count - 1][999] = i < 50 ? 'c' : static_cast<char>(i);
    }
}

// 30 blocks equal to those of read_configs(), and 20 of 8192 bytes that are zero.
__attribute__((noinline)) static void make_buffers()
{
    for (int i = 0; i < 30; i++) {
        memset(xmalloc(1000), 'c', 1000);
    }
    for (int i = 0; i < 20; i++) {
        memset(xmalloc(8192), 0, 8192);
    }
}

// 7 objects with virtual functions, of which 5 are equal.
struct Shape {
    virtual ~Shape()
    {
    }
    long edges[30];
};

__attribute__((noinline)) static void make_shapes()
{
    for (long i = 0; i < 7; i++) {
        Shape *shape = new Shape;
        memset(shape->edges, i < 5 ? 1 : static_cast<int>(i), sizeof(shape->edges));
        kept[count++] = reinterpret_cast<char *>(shape);
    }
}

int main()
{
    read_configs();
    make_buffers();
    make_shapes();
    puts("ready");
    fflush(stdout);
    getchar();
    return 0;
}
