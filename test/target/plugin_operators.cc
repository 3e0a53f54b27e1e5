/*
 * A plugin with its own operators new and delete (OWN), which put a word before each block and
 * check it, or with those of the C++ runtime. Its number is NUMBER; unloaded.c opens and closes it.
 */
#include <cstdlib>
#include <new>

#ifdef OWN
static void *take(std::size_t size)
{
    auto *block = static_cast<long *>(std::malloc(size + 16));
    block[0] = 4711;
    return block + 2;
}

static void give(void *ptr)
{
    long *block = static_cast<long *>(ptr) - 2;
    if (block[0] != 4711) {
        std::abort();
    }
    block[0] = 0;
    std::free(block);
}

void *operator new(std::size_t size)
{
    return take(size);
}

void *operator new[](std::size_t size)
{
    return take(size);
}

void operator delete(void *ptr) noexcept
{
    give(ptr);
}

void operator delete(void *ptr, std::size_t) noexcept
{
    give(ptr);
}

void operator delete[](void *ptr) noexcept
{
    give(ptr);
}
#endif

struct thing {
    int words[100];
};

extern "C" int library_run(int given)
{
    auto *first = new thing;
    char *second = new char[1000];
    first->words[3] = given;
    second[999] = NUMBER;
    int sum = first->words[3] + second[999];
    if (given % 2) {
        delete first;
    } else {
        operator delete(first);
    }
    delete[] second;
    return sum;
}
