/*
 * Makes COUNT objects of each of CLASSES classes, which the compiler is told. Says how many live of
 * each, by counters in their constructors, and waits for the end of its input.
 *
 *     many_types COUNT
 */
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#ifndef CLASSES
#define CLASSES 1000
#endif
#define CHUNK 250

static long live[CLASSES];

template <int N> struct Class {
    Class()
    {
        live[N]++;
    }
    virtual ~Class() = default;
    long number = N;
};

template <int N> static void make(std::vector<void *> &kept, long count)
{
    for (long i = 0; i < count; i++) {
        kept.push_back(new Class<N>);
    }
    printf("%ld\tClass<%d>\n", live[N], N);
}

template <int FIRST, int... N>
static void make_chunk(std::vector<void *> &kept, long count, std::integer_sequence<int, N...>)
{
    (make<FIRST + N>(kept, count), ...);
}

template <int FIRST> static void make_all(std::vector<void *> &kept, long count)
{
    make_chunk<FIRST>(kept, count, std::make_integer_sequence<int, CHUNK>());
    if constexpr (FIRST + CHUNK < CLASSES) {
        make_all<FIRST + CHUNK>(kept, count);
    }
}

int main(int argc, char **argv)
{
    std::vector<void *> kept;
    make_all<0>(kept, argc > 1 ? atol(argv[1]) : 1);
    printf("ready\n");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
