/*
 * Allocates COUNT blocks without a type, and then objects of a class. Says how many objects live,
 * and waits for the end of its input.
 *
 *     late_types COUNT OBJECTS [SPREAD]
 *
 * SPREAD: the bytes between two blocks.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct Late {
    long number = 7;
    virtual ~Late() = default;
};

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], nullptr, 10) : 1000;
    size_t objects = argc > 2 ? strtoul(argv[2], nullptr, 10) : 1000;
    size_t bytes = argc > 3 ? strtoul(argv[3], nullptr, 10) : 48;
    std::vector<void *> blocks;
    std::vector<Late *> late;
    blocks.reserve(count);
    late.reserve(objects);
    for (size_t i = 0; i < count; i++) {
        blocks.push_back(malloc(bytes));
        memset(blocks.back(), 1, bytes);
    }
    for (size_t i = 0; i < objects; i++) {
        late.push_back(new Late);
    }
    printf("%zu\tLate\nready\n", late.size());
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
