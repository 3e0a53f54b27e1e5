/*
 * Measures the cost of finding one stack: cold, walked, and replayed; compares with libunwind.
 *
 * Builds stacks of 10, 30 and 60 frames of different functions. The registers are captured at the
 * leaf. The same stack is then found again and again ("1 path"), or it is found once, all functions
 * return, and one of many other paths is taken ("N paths": at each of the inner levels, one of two
 * functions is called). Functions differ in the size of their code and of their frames, as real
 * ones do. The cost of building the stack, measured without the leaf's work, is subtracted. The
 * minimum of several rounds counts. Times are thread CPU time, because other processes share the
 * machine.
 *
 * Prints one line per measurement: method, depth, paths, ns per stack, ns per frame.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../test/unit/self_modules.h"
#include "arch/capture.h"
#include "rt/bits.h"
#include "unwind/replay.h"
#include "unwind/rule_make.h"
#include "unwind/unwind.h"
#ifdef HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#define ROUNDS_MS     400 /* of each measurement */
#define CACHE_ENTRIES 32768U
#define REPLAY_SLOTS  4096U
#define REPLAY_BYTES  (4U << 20)

static struct self_modules self;
static struct hs_rule_cache cache;
static struct hs_unwinder unwinder;
static struct hs_replay replay;
static struct hs_walk walk;
static uint64_t stack_end_va, sum, hit_count, find_count;
static uint32_t frame_count;

/* The leaf's work, done `repeat` times. */
static void (*leaf_work)(const struct hs_regs *regs, uint32_t repeat);

static void work_none(const struct hs_regs *regs, uint32_t repeat)
{
    (void)regs;
    (void)repeat;
}

static struct hs_stack_window window_from(const struct hs_regs *regs)
{
    return (struct hs_stack_window){ .lo_va = regs->sp, .hi_va = stack_end_va };
}

static void work_walk(const struct hs_regs *regs, uint32_t repeat)
{
    for (uint32_t i = 0; i < repeat; i++) {
        struct hs_stack_window window = window_from(regs);
        hs_unwind_walk(&unwinder, regs, false, &window, &walk);
        sum += walk.frames[walk.frame_count - 1];
    }
    frame_count = walk.frame_count;
}

static uint32_t find(const struct hs_regs *regs)
{
    struct hs_stack_window window = window_from(regs);
    find_count++;
    uint64_t generation = hs_rule_cache_generation(&cache);
    uint32_t id = hs_replay_find_within(&replay, regs, stack_end_va, generation);
    if (id != HS_REPLAY_NONE || hs_replay_find(&replay, regs, &window, generation, &id)) {
        hit_count++;
        return id;
    }
    hs_unwind_walk(&unwinder, regs, false, &window, &walk);
    frame_count = walk.frame_count;
    id = walk.frame_count;
    hs_replay_store(&replay, regs, &walk, generation, id);
    return id;
}

static void work_replay(const struct hs_regs *regs, uint32_t repeat)
{
    for (uint32_t i = 0; i < repeat; i++) {
        sum += find(regs);
    }
}

#ifdef HAVE_LIBUNWIND
static void work_libunwind(const struct hs_regs *regs, uint32_t repeat)
{
    void *pcs[128];
    (void)regs;
    for (uint32_t i = 0; i < repeat; i++) {
        frame_count = (uint32_t)unw_backtrace(pcs, 128);
        sum += (uint64_t)pcs[0];
    }
}
#endif

/* --- stacks: 64 levels, two functions each, of different frame sizes -------------------------- */

struct path {
    uint64_t choice; /* bit n: which of the two functions at depth n */
    uint32_t depth;
    uint32_t repeat;
};

typedef uint64_t level_fn(const struct path *path, uint32_t depth);
static level_fn *const levels[128];

static __attribute__((noinline)) uint64_t go_on(const struct path *path, uint32_t depth)
{
    if (depth < path->depth) {
        return levels[depth * 2 + (path->choice >> depth & 1)](path, depth);
    }
    struct hs_regs regs;
    hs_regs_capture(&regs);
    leaf_work(&regs, path->repeat);
    return depth;
}

#define LEVEL(n)                                                                                   \
    static __attribute__((noinline)) uint64_t level_##n(const struct path *path, uint32_t depth)   \
    {                                                                                              \
        volatile uint64_t pad[1 + ((n)*7) % 23];                                                   \
        __asm__("jmp 1f; .skip (" #n " * 37) %% 203; 1:" : :);                                     \
        pad[0] = depth;                                                                            \
        depth++;                                                                                   \
        if (depth < path->depth) {                                                                 \
            return levels[depth * 2 + (path->choice >> depth & 1)](path, depth) + pad[0];          \
        }                                                                                          \
        return go_on(path, depth) + pad[0];                                                        \
    }
#define LEVEL8(a)                                                                                  \
    LEVEL(a##0) LEVEL(a##1) LEVEL(a##2) LEVEL(a##3) LEVEL(a##4) LEVEL(a##5) LEVEL(a##6) LEVEL(a##7)
#define NAME8(a)                                                                                   \
    level_##a##0, level_##a##1, level_##a##2, level_##a##3, level_##a##4, level_##a##5,            \
        level_##a##6, level_##a##7
/* clang-format off */
LEVEL8(1) LEVEL8(2) LEVEL8(3) LEVEL8(4) LEVEL8(5) LEVEL8(6) LEVEL8(7) LEVEL8(8)
LEVEL8(11) LEVEL8(12) LEVEL8(13) LEVEL8(14) LEVEL8(15) LEVEL8(16) LEVEL8(17) LEVEL8(18)
static level_fn *const levels[128] = {
    NAME8(1), NAME8(2), NAME8(3), NAME8(4), NAME8(5), NAME8(6), NAME8(7), NAME8(8),
    NAME8(11), NAME8(12), NAME8(13), NAME8(14), NAME8(15), NAME8(16), NAME8(17), NAME8(18),
};
/* clang-format on */

/* --- measuring -------------------------------------------------------------------------------- */

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Returns the lowest cost of one round of `calls` stacks, with `repeat` lookups in each. */
static double lowest(uint32_t depth, uint32_t path_count, uint32_t calls, uint32_t repeat)
{
    double best = 1e18;
    double stop = now_ns() + ROUNDS_MS * 1e6;
    while (now_ns() < stop) {
        uint64_t random = 1;
        double start = now_ns();
        for (uint32_t i = 0; i < calls; i++) {
            struct path path = { .depth = depth, .repeat = repeat };
            random = hs_mix64(random + i);
            path.choice = (random & (path_count - 1)) << (depth < 14 ? 1 : depth - 13);
            sum += levels[0](&path, 0);
        }
        double spent = now_ns() - start;
        best = spent < best ? spent : best;
    }
    return best;
}

static void measure(const char *name, void (*work)(const struct hs_regs *, uint32_t),
                    uint32_t depth, uint32_t path_count)
{
    /* Rounds are short, so that some of them are not disturbed. */
    uint32_t calls = path_count == 1 ? 5 : 200 * path_count < 20000 ? 20000 : 40000;
    uint32_t repeat = path_count == 1 ? 500 : 1;
    leaf_work = work_none;
    double empty = lowest(depth, path_count, calls, repeat);
    hit_count = find_count = 0;
    leaf_work = work;
    double full = lowest(depth, path_count, calls, repeat);
    double ns = (full - empty) / (calls * repeat);
    printf("%-18s depth %2u  paths %4u  %8.1f ns/stack  %6.2f ns/frame", name, depth, path_count,
           ns, ns / frame_count);
    if (find_count > 0) {
        printf("  hits %.1f %%", 100.0 * (double)hit_count / (double)find_count);
    }
    printf("\n");
}

/*
 * Measures the way from pc to rule without the rule cache, for every pc that the walks reached. The
 * unwind information is already in the CPU's caches.
 */
static void measure_miss(void)
{
    uint32_t rounds = 2, count = self.pc_count;
    struct hs_resolved resolved = { 0 };
    double best = 1e18;
    double stop = now_ns() + ROUNDS_MS * 1e6;
    while (now_ns() < stop) {
        double start = now_ns();
        for (uint32_t i = 0; i < rounds; i++) {
            for (uint32_t id = 1; id < count; id++) {
                self.pc_count = count;
                self_modules_resolve(&self, self.pcs[id], false, &resolved);
                sum += hs_rule_make(resolved.module, self.pcs[id], false);
            }
        }
        double ns = (now_ns() - start) / rounds / (count - 1);
        best = ns < best ? ns : best;
    }
    self.pc_count = count;
    printf("%-18s %u pcs  %.1f ns each\n", "cold rule", count - 1, best);
}

static void *map_zero(size_t size_bytes)
{
    void *va = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (va == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return va;
}

int main(int argc, char **argv, char **env)
{
    static const uint32_t depths[] = { 10, 30, 60 };
    static const uint32_t paths[] = { 1, 64, 4096 };
    (void)argc;
    (void)argv;
    stack_end_va = (uint64_t)(uintptr_t)env & ~UINT64_C(7);
    self_modules_init(&self);
    hs_rule_cache_init(&cache, map_zero(HS_RULE_CACHE_BYTES(CACHE_ENTRIES)), CACHE_ENTRIES);
    unwinder = (struct hs_unwinder){ .cache = &cache,
                                     .resolve = self_modules_resolve,
                                     .resolve_ctx = &self };
    hs_replay_init(&replay, map_zero(HS_REPLAY_BYTES(REPLAY_SLOTS, REPLAY_BYTES)), REPLAY_SLOTS,
                   REPLAY_BYTES);
    for (unsigned d = 0; d < HS_COUNT_OF(depths); d++) {
        for (unsigned p = 0; p < HS_COUNT_OF(paths); p++) {
            measure("walk", work_walk, depths[d], paths[p]);
            measure("replay, else walk", work_replay, depths[d], paths[p]);
#ifdef HAVE_LIBUNWIND
            measure("unw_backtrace", work_libunwind, depths[d], paths[p]);
#endif
        }
    }
    measure_miss();
    printf("(rule cache: %u entries in use, %llu misses; check %llu)\n", cache.mask + 1,
           (unsigned long long)cache.miss_count, (unsigned long long)(sum & 1));
    self_modules_deinit(&self);
    return 0;
}
