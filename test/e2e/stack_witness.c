/*
 * Compares our stacks with libunwind's inside a real program: preloaded, at every Nth allocation of its
 * main thread. For test_stacks.py, which compiles it as a shared library with the unwinder in it.
 *
 * Environment: WITNESS_EVERY, the N; WITNESS_OUT, a file that gets one line of JSON from each process
 * as it exits: how many stacks were compared, how many were the same frame by frame, how many were so
 * when found by replay, why ours ended, and the first differences in words.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "../unit/self_modules.h"
#include "unwind/replay.h"

#define CACHE_COUNT  32768U
#define REPLAY_SLOTS 1024U
#define REPLAY_BYTES (512U << 10)
#define WALKS_KEPT   (1U << 22)
#define JIT_MAX      64

struct range {
    uint64_t start_va;
    uint64_t end_va;
};

static struct self_modules self;
static struct hs_rule_cache cache;
static struct hs_replay replay;
static struct hs_walk walk;
static struct range jits[JIT_MAX]; /* executable memory without a file */
static unsigned jit_count;
static uint64_t stack_end_va, every = 100;
static uint64_t event_count, compared_count, same_count, found_count, found_same_count;
static uint64_t end_counts[HS_UNWIND_END_N];
static uint64_t *found_hashes; /* of the walks in the replay table, by their number */
static char differences[2000];
static pid_t pid;
static pthread_t main_thread;
static int is_on;
static __thread int is_inside;

/* --- modules ----------------------------------------------------------------------------------- */

static void look_again(void)
{
    char line[512], perms[8];
    uint64_t start_va, end_va, off, inode;
    unsigned major, minor;
    FILE *maps = fopen("/proc/self/maps", "re");
    self.module_count = 0;
    dl_iterate_phdr(self_modules_add, &self);
    jit_count = 0;
    while (maps && fgets(line, sizeof(line), maps) && jit_count < JIT_MAX) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64, &start_va,
                   &end_va, perms, &off, &major, &minor, &inode) == 7 &&
            inode == 0 && perms[2] == 'x') {
            jits[jit_count++] = (struct range){ start_va, end_va };
        }
    }
    if (maps) {
        fclose(maps);
    }
    hs_rule_cache_flush(&cache);
}

static bool resolve(void *ctx, uint64_t pc, bool is_exact, struct hs_resolved *ret_resolved)
{
    if (self_modules_resolve(ctx, pc, is_exact, ret_resolved)) {
        return true;
    }
    for (unsigned i = 0; i < jit_count; i++) {
        if (pc >= jits[i].start_va && pc < jits[i].end_va) {
            *ret_resolved = (struct hs_resolved){ NULL, self.pc_count % SELF_FRAMES_MAX };
            self.pcs[self.pc_count++ % SELF_FRAMES_MAX] = pc;
            return true;
        }
    }
    return false;
}

/* --- comparing --------------------------------------------------------------------------------- */

static void note(const char *format, ...)
{
    size_t used = strlen(differences);
    va_list args;
    va_start(args, format);
    vsnprintf(differences + used, sizeof(differences) - used, format, args);
    va_end(args);
}

static void name_pc(uint64_t pc, char *text, size_t size_bytes)
{
    Dl_info info = { 0 };
    dladdr((void *)(uintptr_t)pc, &info);
    snprintf(text, size_bytes, "%s+%#" PRIx64, info.dli_fname ? info.dli_fname : "?",
             pc - (uint64_t)(uintptr_t)info.dli_fbase);
}

static void note_difference(uint32_t frame, uint64_t last_pc, uint64_t pc)
{
    char last[200], theirs[200];
    if (strlen(differences) > sizeof(differences) - 600) {
        return;
    }
    name_pc(last_pc, last, sizeof(last));
    name_pc(pc, theirs, sizeof(theirs));
    note("frame %u of %u (end %d): behind %s libunwind has %s; ", frame,
         walk.frame_count + walk.skipped_count, (int)walk.end, last, theirs);
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

static bool is_same(const struct hs_regs *regs)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t pc = 0, last_pc = 0;
    uint32_t count = 0;
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
        if (pc == 0) {
            break;
        }
        if (!has_frame(count, pc)) {
            note_difference(count, last_pc, pc);
            return false;
        }
        last_pc = pc;
        count++;
    } while (unw_step(&cursor) > 0);
    if (count != walk.frame_count + walk.skipped_count) {
        note_difference(count, last_pc, 0);
        return false;
    }
    return true;
}

static uint64_t hash_walk(void)
{
    uint64_t hash = walk.end;
    for (uint32_t i = 0; i < walk.frame_count; i++) {
        hash = (hash ^ self.pcs[walk.frames[i]]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash;
}

static void sample(const struct hs_regs *regs)
{
    struct hs_unwinder unwinder = { &cache, resolve, &self };
    struct hs_stack_window window = { .lo_va = regs->sp, .hi_va = stack_end_va };
    uint32_t number = 0;
    uint64_t generation = hs_rule_cache_secret(&cache);
    if (regs->sp >= stack_end_va) {
        return; /* not the main thread's own stack */
    }
    bool is_found = hs_replay_find(&replay, regs, &window, generation, &number);
    if (!is_found) {
        hs_unwind_walk(&unwinder, regs, false, &window, &walk);
        number = (uint32_t)(event_count % WALKS_KEPT);
        found_hashes[number] = hash_walk();
        hs_replay_store(&replay, regs, &walk, generation, number);
    }
    if (event_count++ % every != 0) {
        return;
    }
    hs_unwind_walk(&unwinder, regs, false, &window, &walk);
    if (walk.end == HS_UNWIND_NO_MODULE) {
        look_again();
        hs_unwind_walk(&unwinder, regs, false, &window, &walk);
        is_found = false; /* what was found is of a world that is gone */
    }
    compared_count++;
    end_counts[walk.end]++;
    found_count += is_found;
    found_same_count += is_found && found_hashes[number] == hash_walk();
    same_count += is_same(regs);
}

/* --- hooks: the registers of the caller, as the profiler takes them -------------------------------- */

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
    if (is_on && !is_inside && pthread_equal(pthread_self(), main_thread)) {
        is_inside = 1;
        sample(regs);
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

__attribute__((constructor)) static void begin(void)
{
    void *const *end = dlsym(RTLD_DEFAULT, "__libc_stack_end");
    const char *text = getenv("WITNESS_EVERY");
    if (!end || !getenv("WITNESS_OUT")) {
        return;
    }
    every = text ? strtoull(text, NULL, 10) : every;
    stack_end_va = (uint64_t)(uintptr_t)*end + 8;
    pid = getpid();
    main_thread = pthread_self();
    self.pc_count = 1;
    self.pcs = map_zero(SELF_FRAMES_MAX * sizeof(self.pcs[0]));
    found_hashes = map_zero(WALKS_KEPT * sizeof(found_hashes[0]));
    hs_rule_cache_init(&cache, map_zero(HS_RULE_CACHE_BYTES(CACHE_COUNT)), CACHE_COUNT);
    hs_replay_init(&replay, map_zero(HS_REPLAY_BYTES(REPLAY_SLOTS, REPLAY_BYTES)), REPLAY_SLOTS,
                   REPLAY_BYTES);
    look_again();
    is_on = 1;
}

__attribute__((destructor)) static void finish(void)
{
    if (!is_on || getpid() != pid) {
        return; /* a child that did not exec */
    }
    is_on = 0;
    FILE *out = fopen(getenv("WITNESS_OUT"), "ae");
    if (out) {
        fprintf(out,
                "{\"events\": %" PRIu64 ", \"compared\": %" PRIu64 ", \"same\": %" PRIu64
                ", \"found\": %" PRIu64 ", \"found_same\": %" PRIu64 ", \"ends\": [",
                event_count, compared_count, same_count, found_count, found_same_count);
        for (unsigned i = 0; i < HS_UNWIND_END_N; i++) {
            fprintf(out, "%s%" PRIu64, i ? ", " : "", end_counts[i]);
        }
        fprintf(out, "], \"differences\": \"%s\"}\n", differences);
        fclose(out);
    }
}
