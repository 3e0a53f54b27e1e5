/*
 * Threads that leave frames in other ways than by returning, while other threads allocate and while
 * snapshots are taken.
 *
 *     throws THREADS ROUNDS
 *
 * Each frame that is left has allocated. It was therefore sampled, and the client has its stack in
 * memory. Frames that are later at the same stack address must not be taken for it.
 */
#include <csetjmp>
#include <cstdio>
#include <exception>
#include <memory>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "truth.h"

SITE(site_frame, malloc(n))
SITE(site_catch, malloc(n))
SITE(site_jump, malloc(n))

SITE_OF(site_new)
NOINLINE void *site_new(size_t n)
{
    void *volatile block = operator new(n);
    SITE_GOT(site_new, n);
    return block;
}

namespace
{

struct Block {
    explicit Block(size_t n) : bytes(n), block(site_frame(n))
    {
    }
    ~Block()
    {
        SITE_FREE(site_frame, block, bytes);
    }
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;
    size_t bytes;
    void *block;
};

NOINLINE void thrower(unsigned depth, unsigned kind)
{
    Block block(20 + depth);
    if (depth > 0) {
        thrower(depth - 1, kind);
        __asm__ volatile("");
        return;
    }
    switch (kind % 4) {
    case 0:
        throw std::runtime_error(std::string(30 + kind % 100, 'x'));
    case 1:
        throw kind;
    case 2:
        (void)std::vector<int>().at(kind); /* thrown by a library */
        break;
    default:
        try {
            throw std::logic_error("inner");
        } catch (...) {
            std::throw_with_nested(std::runtime_error("outer"));
        }
    }
}

/* Catches the exception half way, keeps it, and throws it again. */
NOINLINE void middle(unsigned depth, unsigned kind)
{
    std::exception_ptr kept;
    try {
        Block block(200);
        thrower(depth, kind);
    } catch (...) {
        void *p = site_catch(40);
        SITE_FREE(site_catch, p, 40);
        kept = std::current_exception();
    }
    Block after(60);
    std::rethrow_exception(kept);
}

NOINLINE void jump(jmp_buf &back, unsigned depth)
{
    void *p = site_jump(36);
    SITE_FREE(site_jump, p, 36);
    if (depth > 0) {
        jump(back, depth - 1);
    } else {
        longjmp(back, 1);
    }
    __asm__ volatile("");
}

unsigned rounds;

void *run(void *)
{
    unsigned long caught = 0;
    for (unsigned i = 0; i < rounds; i++) {
        try {
            middle(i % 40, i);
        } catch (...) {
            caught++;
        }
        site_new(8);
        jmp_buf back;
        if (setjmp(back) == 0) {
            jump(back, i % 30);
        }
        site_catch(16);
    }
    return reinterpret_cast<void *>(caught);
}

} // namespace

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 3;
    rounds = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1000;
    std::vector<pthread_t> threads(count);
    unsigned long caught = 0;
    for (auto &thread : threads) {
        pthread_create(&thread, nullptr, run, nullptr);
    }
    for (auto &thread : threads) {
        void *result;
        pthread_join(thread, &result);
        caught += reinterpret_cast<unsigned long>(result);
    }
    std::printf("%lu caught\n", caught);
    return caught == static_cast<unsigned long>(count) * rounds ? 0 : 1;
}
