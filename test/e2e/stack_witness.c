/*
 * Compares our stacks with libunwind's inside a real program: preloaded, at every Nth allocation of
 * all its threads. For test_stacks.py, which compiles it as a shared library that contains the
 * unwinder.
 *
 * Code is found as the client finds it (src/client/thread/call_stack.c): objects that the loader
 * knows are modules, other readable memory may be that of a JIT compiler.
 *
 * Environment: WITNESS_EVERY, the N; WITNESS_OUT, a file to which each process appends a line of
 * JSON when it exits: how many stacks were compared, how many were equal frame by frame, how many
 * of both contained code of no module, how many were equal when found by replay, why ours ended.
 * WITNESS_OUT.differences gets a line with all details for each stack that was not equal;
 * stack_differences.py finds the reason.
 *
 * Threads   one compares at a time. The others do not wait, because they may hold a lock of the
 *           loader that the comparing thread needs.
 */
#include <inttypes.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "../unit/self_modules.h"
#include "rt/sys.h"
#include "unwind/replay.h"

#define CACHE_COUNT     32768U
#define REPLAY_SLOTS    1024U
#define REPLAY_BYTES    (512U << 10)
#define WALKS_KEPT      (1U << 22)
#define THEIRS_MAX      65536U
#define DIFFERENCES_MAX 1000U
#define STACK_WORDS_MAX 2048U

static struct self_modules self;
static struct hs_rule_cache cache;
static struct hs_replay replay;
static struct hs_walk walk;
static unsigned long long loaded_count, unloaded_count; /* when the modules were last read */
static uint64_t theirs[THEIRS_MAX], their_sps[THEIRS_MAX], their_bps[THEIRS_MAX];
static uint32_t their_count;
static uint64_t main_stack_end_va, every = 100;
static struct {
    uint64_t events;
    uint64_t busy;  /* another thread was comparing */
    uint64_t alien; /* the stack was not the thread's own */
    uint64_t compared;
    uint64_t same;
    uint64_t threads; /* of the compared stacks: not of the main thread */
    uint64_t jit;     /* of the compared stacks: with a frame outside all modules */
    uint64_t jit_same;
    uint64_t found;
    uint64_t found_same;
    uint64_t recorded;
    uint64_t ends[HS_UNWIND_END_N];
} counts;
static uint64_t *found_hashes; /* hashes of the walks in the replay table, by their number */
static FILE *differences;
static pthread_t main_thread;
static pthread_mutex_t comparing = PTHREAD_MUTEX_INITIALIZER;
static int is_on;
static __thread int is_inside;
static __thread uint64_t stack_lo_va, stack_hi_va;

/* --- modules ---------------------------------------------------------------------------------- */

static int has_changed(struct dl_phdr_info *info, size_t unused_bytes, void *ret_has_changed)
{
    (void)unused_bytes;
    *(bool *)ret_has_changed = info->dlpi_adds != loaded_count || info->dlpi_subs != unloaded_count;
    loaded_count = info->dlpi_adds;
    unloaded_count = info->dlpi_subs;
    return 1;
}

/* What the client does when a dlopen() or dlclose() returns. */
static void follow_modules(void)
{
    bool must_look = false;
    dl_iterate_phdr(has_changed, &must_look);
    if (must_look) {
        self.module_count = 0;
        dl_iterate_phdr(self_modules_add, &self);
        hs_rule_cache_flush(&cache);
        unw_flush_cache(unw_local_addr_space, 0, 0);
    }
}

static bool is_in_module(uint64_t pc)
{
    for (uint32_t i = 0; i < self.module_count; i++) {
        if (pc >= self.modules[i].start_va && pc < self.modules[i].end_va) {
            return true;
        }
    }
    return false;
}

/* Like resolve() of src/client/thread/call_stack.c. */
static bool resolve(void *ctx, uint64_t pc, bool is_exact, struct hs_resolved *ret_resolved)
{
    if (self_modules_resolve(ctx, pc, is_exact, ret_resolved)) {
        return true;
    }
    if (pc < 4096 || pc > UINT64_MAX / 2 || !hs_sys_is_readable(pc & ~UINT64_C(7))) {
        return false;
    }
    *ret_resolved = (struct hs_resolved){ NULL, self.pc_count % SELF_FRAMES_MAX, false };
    self.pcs[self.pc_count++ % SELF_FRAMES_MAX] = pc;
    return true;
}

/* --- libunwind's walk ------------------------------------------------------------------------- */

/* Adds libunwind's frames from `regs` on. */
static void walk_theirs_from(const struct hs_regs *regs)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t pc = 0;
    memset(&context, 0, sizeof(context));
    greg_t *g = context.uc_mcontext.gregs;
    g[REG_RIP] = (greg_t)regs->pc;
    g[REG_RSP] = (greg_t)regs->sp;
    g[REG_RBP] = (greg_t)regs->bp;
    g[REG_RBX] = (greg_t)regs->bx;
    g[REG_R12] = (greg_t)regs->r12;
    g[REG_R13] = (greg_t)regs->r13;
    g[REG_R14] = (greg_t)regs->r14;
    g[REG_R15] = (greg_t)regs->r15;
    unw_init_local(&cursor, &context);
    do {
        unw_get_reg(&cursor, UNW_REG_IP, &pc);
        if (pc == 0 || their_count == THEIRS_MAX) {
            break;
        }
        theirs[their_count] = pc;
        unw_get_reg(&cursor, UNW_REG_SP, &their_sps[their_count]);
        unw_get_reg(&cursor, UNW_X86_64_RBP, &their_bps[their_count++]);
    } while (unw_step(&cursor) > 0);
}

static void walk_theirs(const struct hs_regs *regs)
{
    their_count = 0;
    walk_theirs_from(regs);
}

/*
 * Below the last frame with information, libunwind adds 16 to its sp for each frame without, and
 * gives up when a frame pointer is further away than this.
 */
#define THEIR_REACH_BYTES 0x4000U

/*
 * Resumes libunwind at the frames where it gave up like this, by the frame pointer that it had
 * there.
 */
static uint32_t walk_theirs_on(const struct hs_regs *regs)
{
    uint32_t resumed_count = 0;
    walk_theirs(regs);
    while (their_count > 0 && their_count < THEIRS_MAX) {
        uint64_t sp = their_sps[their_count - 1], bp = their_bps[their_count - 1];
        if (bp < sp || bp - sp <= THEIR_REACH_BYTES || bp % 8 != 0 || bp > stack_hi_va - 16) {
            break;
        }
        const uint64_t *frame = (const uint64_t *)(uintptr_t)bp;
        struct hs_regs next = { .pc = frame[1], .sp = bp + 16, .bp = frame[0] };
        walk_theirs_from(&next);
        resumed_count++;
    }
    return resumed_count;
}

/* Is `pc` the frame of this number, or in the gap of a stack that was cut? */
static bool has_frame(uint32_t number, uint64_t pc)
{
    if (walk.cut_idx != 0 && number >= walk.cut_idx) {
        if (number < walk.cut_idx + walk.skipped_count) {
            return true;
        }
        number -= walk.skipped_count;
    }
    return number < walk.frame_count && self.pcs[walk.frames[number]] == pc;
}

static bool is_same(void)
{
    for (uint32_t i = 0; i < their_count; i++) {
        if (!has_frame(i, theirs[i])) {
            return false;
        }
    }
    return their_count == walk.frame_count + walk.skipped_count;
}

/* --- differences ------------------------------------------------------------------------------ */

static void write_numbers(const char *name, const uint64_t *numbers, uint32_t count)
{
    fprintf(differences, ", \"%s\": [", name);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(differences, "%s%" PRIu64, i ? ", " : "", numbers[i]);
    }
    fputs("]", differences);
}

static void write_maps(void)
{
    char line[600];
    FILE *maps = fopen("/proc/self/maps", "re");
    fputs(", \"maps\": [", differences);
    for (int i = 0; maps && fgets(line, sizeof(line), maps); i++) {
        line[strcspn(line, "\n\"\\")] = 0;
        fprintf(differences, "%s\"%s\"", i ? ", " : "", line);
    }
    fputs("]", differences);
    if (maps) {
        fclose(maps);
    }
}

static void write_modules(void)
{
    fputs(", \"modules\": [", differences);
    for (uint32_t i = 0; i < self.module_count; i++) {
        const struct hs_unwind_module *m = &self.modules[i];
        fprintf(differences, "%s[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", i ? ", " : "",
                m->start_va, m->end_va, m->bias);
    }
    fputs("]", differences);
}

static void write_difference(const struct hs_regs *regs)
{
    uint64_t ours[HS_FRAMES_MAX];
    uint64_t word_count = (stack_hi_va - regs->sp) / 8;
    if (!differences || counts.recorded == DIFFERENCES_MAX) {
        return; /* the reader sees that some are missing */
    }
    counts.recorded++;
    for (uint32_t i = 0; i < walk.frame_count; i++) {
        ours[i] = self.pcs[walk.frames[i]];
    }
    fprintf(differences, "{\"end\": %d, \"cut_idx\": %u, \"skipped\": %u, \"stack_end\": %" PRIu64,
            (int)walk.end, walk.cut_idx, walk.skipped_count, stack_hi_va);
    write_numbers("regs", (const uint64_t *)regs, sizeof(*regs) / 8);
    write_numbers("ours", ours, walk.frame_count);
    write_numbers("theirs", theirs, their_count);
    write_numbers("words", (const uint64_t *)(uintptr_t)regs->sp,
                  word_count < STACK_WORDS_MAX ? (uint32_t)word_count : STACK_WORDS_MAX);
    fprintf(differences, ", \"resumed\": %u", walk_theirs_on(regs));
    write_numbers("theirs_resumed", theirs, their_count);
    write_modules();
    write_maps();
    fputs("}\n", differences);
    fflush(differences);
}

/* --- comparing -------------------------------------------------------------------------------- */

static uint64_t hash_walk(void)
{
    uint64_t hash = walk.end;
    for (uint32_t i = 0; i < walk.frame_count; i++) {
        hash = (hash ^ self.pcs[walk.frames[i]]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash;
}

static bool is_through_jit(void)
{
    for (uint32_t i = 0; i < walk.frame_count; i++) {
        if (!is_in_module(self.pcs[walk.frames[i]])) {
            return true;
        }
    }
    return false;
}

/*
 * The C library puts its data about a thread directly above the thread's stack. (It has a function
 * that returns the stack, but that allocates under a lock.)
 */
static void learn_stack(void)
{
    char line[600];
    uint64_t start_va, end_va, top_va = (uint64_t)pthread_self();
    if (pthread_equal(pthread_self(), main_thread)) {
        stack_lo_va = 1; /* it grows */
        stack_hi_va = main_stack_end_va;
        return;
    }
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start_va, &end_va) == 2 && start_va < top_va &&
            top_va < end_va) {
            stack_lo_va = start_va;
            stack_hi_va = top_va & ~UINT64_C(7);
        }
    }
    if (maps) {
        fclose(maps);
    }
}

static void compare(const struct hs_regs *regs)
{
    bool is_jit = is_through_jit();
    walk_theirs(regs);
    bool same = is_same();
    counts.compared++;
    counts.ends[walk.end]++;
    counts.same += same;
    counts.threads += !pthread_equal(pthread_self(), main_thread);
    counts.jit += is_jit;
    counts.jit_same += is_jit && same;
    if (!same) {
        write_difference(regs);
    }
}

static void sample(const struct hs_regs *regs)
{
    struct hs_unwinder unwinder = { .cache = &cache, .resolve = resolve, .resolve_ctx = &self };
    struct hs_stack_window window = { .lo_va = regs->sp, .hi_va = stack_hi_va };
    uint32_t number = 0;
    follow_modules();
    uint64_t generation = hs_rule_cache_generation(&cache);
    bool is_found = hs_replay_find(&replay, regs, &window, generation, &number);
    uint32_t quick = hs_replay_find_within(&replay, regs, stack_hi_va, generation);
    if (quick != HS_REPLAY_NONE) {
        if (!is_found) {
            abort();
        }
        number = quick;
    }
    if (!is_found) {
        hs_unwind_walk(&unwinder, regs, false, &window, &walk);
        number = (uint32_t)(counts.events % WALKS_KEPT);
        found_hashes[number] = hash_walk();
        hs_replay_store(&replay, regs, &walk, generation, number);
    }
    if (counts.events++ % every != 0) {
        return;
    }
    hs_unwind_walk(&unwinder, regs, false, &window, &walk);
    counts.found += is_found;
    counts.found_same += is_found && found_hashes[number] == hash_walk();
    compare(regs);
}

static void take_turn(const struct hs_regs *regs)
{
    if (stack_hi_va == 0) {
        learn_stack();
    }
    if (pthread_mutex_trylock(&comparing) != 0) {
        __atomic_fetch_add(&counts.busy, 1, __ATOMIC_RELAXED);
        return;
    }
    if (regs->sp >= stack_lo_va && regs->sp < stack_hi_va) {
        sample(regs);
    } else {
        counts.alien++;
    }
    pthread_mutex_unlock(&comparing);
}

/* --- hooks: the caller's registers, as the profiler takes them -------------------------------- */

#define HOOK(name, regs_arg)                                                                       \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                    \
            ".cfi_startproc\n"                                                                     \
            "movq (%rsp), %r11\nleaq 8(%rsp), %r10\n"                                              \
            "pushq %r15\npushq %r14\npushq %r13\npushq %r12\npushq %rbx\npushq %rbp\n"             \
            "pushq %r10\npushq %r11\n"                                                             \
            ".cfi_adjust_cfa_offset 64\n"                                                          \
            "movq %rsp, " regs_arg "\nsubq $8, %rsp\n.cfi_adjust_cfa_offset 8\n"                   \
            "call witness_" #name "\n"                                                             \
            "addq $72, %rsp\n.cfi_adjust_cfa_offset -72\nret\n.cfi_endproc\n"                      \
            ".size " #name ", . - " #name "\n")

HOOK(malloc, "%rsi");
HOOK(calloc, "%rdx");
HOOK(realloc, "%rdx");

void *witness_malloc(size_t size_bytes, const struct hs_regs *regs);
void *witness_calloc(size_t count, size_t size_bytes, const struct hs_regs *regs);
void *witness_realloc(void *old, size_t size_bytes, const struct hs_regs *regs);

static void witness(const struct hs_regs *regs)
{
    if (is_on && !is_inside) {
        is_inside = 1;
        take_turn(regs);
        is_inside = 0;
    }
}

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

__attribute__((used)) void *witness_malloc(size_t size_bytes, const struct hs_regs *regs)
{
    static void *(*next)(size_t);
    next = next ? next : (void *(*)(size_t))real("malloc");
    witness(regs);
    return next(size_bytes);
}

__attribute__((used)) void *witness_calloc(size_t count, size_t size_bytes,
                                           const struct hs_regs *regs)
{
    static void *(*next)(size_t, size_t);
    next = next ? next : (void *(*)(size_t, size_t))real("calloc");
    witness(regs);
    return next(count, size_bytes);
}

__attribute__((used)) void *witness_realloc(void *old, size_t size_bytes,
                                            const struct hs_regs *regs)
{
    static void *(*next)(void *, size_t);
    next = next ? next : (void *(*)(void *, size_t))real("realloc");
    witness(regs);
    return next(old, size_bytes);
}

static void *map_zero(size_t size_bytes)
{
    return mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void stay_out_of_child(void)
{
    is_on = 0; /* it has the parent's counts */
}

__attribute__((constructor)) static void begin(void)
{
    void *const *end = dlsym(RTLD_DEFAULT, "__libc_stack_end");
    const char *text = getenv("WITNESS_EVERY"), *out = getenv("WITNESS_OUT");
    char path[4096];
    if (!end || !out) {
        return;
    }
    snprintf(path, sizeof(path), "%s.differences", out);
    differences = fopen(path, "ae");
    every = text ? strtoull(text, NULL, 10) : every;
    main_stack_end_va = (uint64_t)(uintptr_t)*end + 8;
    main_thread = pthread_self();
    self.pc_count = 1;
    self.pcs = map_zero(SELF_FRAMES_MAX * sizeof(self.pcs[0]));
    found_hashes = map_zero(WALKS_KEPT * sizeof(found_hashes[0]));
    hs_rule_cache_init(&cache, map_zero(HS_RULE_CACHE_BYTES(CACHE_COUNT)), CACHE_COUNT);
    hs_replay_init(&replay, map_zero(HS_REPLAY_BYTES(REPLAY_SLOTS, REPLAY_BYTES)), REPLAY_SLOTS,
                   REPLAY_BYTES);
    pthread_atfork(NULL, NULL, stay_out_of_child);
    is_on = 1;
}

__attribute__((destructor)) static void finish(void)
{
    if (!is_on) {
        return;
    }
    is_on = 0;
    pthread_mutex_lock(&comparing);
    FILE *out = fopen(getenv("WITNESS_OUT"), "ae");
    if (out) {
        fprintf(out,
                "{\"events\": %" PRIu64 ", \"busy\": %" PRIu64 ", \"alien\": %" PRIu64
                ", \"compared\": %" PRIu64 ", \"same\": %" PRIu64 ", \"threads\": %" PRIu64
                ", \"jit\": %" PRIu64 ", \"jit_same\": %" PRIu64 ", \"found\": %" PRIu64
                ", \"found_same\": %" PRIu64 ", \"recorded\": %" PRIu64 ", \"ends\": [",
                counts.events, counts.busy, counts.alien, counts.compared, counts.same,
                counts.threads, counts.jit, counts.jit_same, counts.found, counts.found_same,
                counts.recorded);
        for (unsigned i = 0; i < HS_UNWIND_END_N; i++) {
            fprintf(out, "%s%" PRIu64, i ? ", " : "", counts.ends[i]);
        }
        fputs("]}\n", out);
        fclose(out);
    }
}
