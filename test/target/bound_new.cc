/*
 * Allocates with C++'s operators in a global object's constructor and in main(), for tests of
 * programs that are linked with the client: 1000 + 100 * 24 + 64 bytes in 102 blocks, of which 1064
 * bytes in 2 blocks stay. Waits for a line of input, twice.
 */
#include <cstdio>
#include <new>
#include <unistd.h>

struct Early {
    char *block;
    __attribute__((noinline)) Early() : block(new char[1000])
    {
    }
};
static Early early;
static void *volatile other;

static void wait_for_line(const char *said)
{
    char byte = 0;
    dprintf(STDOUT_FILENO, "%s\n", said);
    while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') {
    }
}

int main()
{
    for (int i = 0; i < 100; i++) {
        other = operator new(24);
        operator delete(other);
    }
    other = operator new(64, std::align_val_t(64));
    wait_for_line("ready");
    wait_for_line("again");
    operator delete(other, std::align_val_t(64));
    return 0;
}
