/*
 * Reports blocks of a heap of its own with known types, and waits for the end of its input.
 *
 *     typed_heap known COUNT     COUNT blocks of each kind
 *     typed_heap many COUNT      a block of each of COUNT types
 *     typed_heap fork COUNT      as known; and a child that reports more and ends
 */
#include <heapscope/heapscope.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

struct Shape { /* its memory says what it is */
    virtual ~Shape() = default;
    long number = 1;
};

static heapscope::heap given_heap;
static uint64_t next_id = 1;

/* All types at one place: the stack does not tell them apart. */
__attribute__((noinline)) static void take(const char *type)
{
    heapscope_report_alloc_of(given_heap.id(), next_id++, 100, type);
}

/* Frames of this name say that they allocate T[]. */
namespace heapscope
{
template <class T> struct typed_allocator {
    __attribute__((noinline)) static void allocate(const char *type)
    {
        if (type) {
            heapscope_report_alloc_of(given_heap.id(), next_id++, 100, type);
        } else {
            heapscope_report_alloc(given_heap.id(), next_id++, 100);
        }
        __asm__ volatile("");
    }
};
} // namespace heapscope

static void known(long count)
{
    std::string accents;
    while (accents.size() < 10 << 20) {
        accents += "\303\251";
    }
    for (long i = 0; i < count; i++) {
        take("Node");
        take(i % 2 ? "Text" : "Element"); /* each the half */
        take("Node");
        take(nullptr);
        take("");
        take(accents.c_str());
        take("tab\tand \377");
        std::string copied = "copied"; /* the text does not stay */
        take(copied.c_str());
        memset(&copied[0], 'x', copied.size());
        Shape *shape = new Shape;
        given_heap.report_alloc(shape, sizeof(Shape), "of the pool");
        heapscope::typed_allocator<int>::allocate(nullptr);
        heapscope::typed_allocator<int>::allocate("wins");
    }
    for (uint64_t id = 1; id < next_id; id += 2) { /* the ids are used again, with another type */
        heapscope_report_alloc_of(given_heap.id(), (UINT64_C(1) << 40) + id, 7, "old");
        heapscope_report_alloc_of(given_heap.id(), (UINT64_C(1) << 40) + id, 7, "freed");
        heapscope_report_free(given_heap.id(), (UINT64_C(1) << 40) + id);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "known";
    long count = argc > 2 ? atol(argv[2]) : 10;
    given_heap = heapscope::heap("pool");
    if (strcmp(what, "many") == 0) {
        for (long i = 0; i < count; i++) {
            take(("type " + std::to_string(i)).c_str());
        }
    } else {
        known(count);
    }
    if (strcmp(what, "fork") == 0) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            take("Node");
            take("Child");
            exit(0);
        }
        waitpid(child, nullptr, 0);
    }
    printf("ready\n");
    fflush(stdout);
    while (getchar() != EOF) {
    }
    return 0;
}
