/*
 * Where a thread may be borrowed: decisions on stacks of frames; roles of our own libraries; room
 * on a stack; and which function was called, by the code before a return address.
 */
#include <dlfcn.h>
#include <string.h>

#include "arch/call_site.h"
#include "inject/ptrace/safe_point.h"
#include "remote_self.h"

static struct remote_self self;
static struct hs_safe_point point;
static struct hs_remote_stack stack;
static char why[HS_SAFE_POINT_WHY_BYTES];

/* Addresses, each of which stands for a kind of code. */
enum place {
    NOWHERE,
    PROGRAM,
    POLL,       /* exported by libc */
    COND_WAIT,  /* exported, waits for an event */
    MUTEX_LOCK, /* exported, waits for a lock */
    MALLOC,     /* exported, forbidden */
    INTERNAL,   /* of libc, and not exported */
    LIBC_START, /* the start code of the program or of a thread */
    LOADER,
    JIT,
    JOINER,  /* code of the program behind a call of pthread_join */
    SLEEPER, /* the same for nanosleep */
};

static uint64_t libc_internal_va;

/* Code that calls a function through a slot, and ends there. */
static struct {
    uint8_t bytes[8];
    uint64_t slot;
} sites[2];
static uint64_t site_va[2];

static void make_site(unsigned no, uint64_t function_va)
{
    const uint8_t call[] = { 0x90, 0x90, 0xff, 0x15, 0, 0, 0, 0 }; /* call *(%rip) */
    memcpy(sites[no].bytes, call, sizeof(call));
    sites[no].slot = function_va;
    site_va[no] = (uint64_t)(uintptr_t)&sites[no].slot;
}

static uint64_t address_of(const char *name)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    uint64_t va = (uint64_t)(uintptr_t)dlsym(libc, name);
    dlclose(libc);
    assert_true(va != 0);
    return va + 1;
}

static uint64_t find_internal(void)
{
    uint64_t va = address_of("poll");
    while (hs_known_functions_at(&point.functions, va) != HS_FUNCTION_UNKNOWN) {
        va++;
    }
    return va;
}

static int setup(void **state)
{
    (void)state;
    remote_self_init(&self, getpid());
    assert_int_equal(
        hs_safe_point_init(&point, &self.memory, &self.objects, &self.maps, "no_such_symbol"), 0);
    assert_int_equal(hs_remote_stack_init(&stack, &self.memory, &self.objects, &self.maps), 0);
    libc_internal_va = find_internal();
    make_site(0, address_of("pthread_join") - 1);
    make_site(1, address_of("nanosleep") - 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hs_remote_stack_deinit(&stack);
    hs_safe_point_deinit(&point);
    remote_self_deinit(&self);
    return 0;
}

static uint64_t va_of(enum place place)
{
    switch (place) {
    case PROGRAM:
        return (uint64_t)(uintptr_t)va_of;
    case POLL:
        return address_of("poll");
    case COND_WAIT:
        return address_of("pthread_cond_wait");
    case MUTEX_LOCK:
        return address_of("pthread_mutex_lock");
    case JOINER:
    case SLEEPER:
        return site_va[place == SLEEPER] - 1;
    case MALLOC:
        return address_of("malloc");
    case INTERNAL:
    case LIBC_START:
        return libc_internal_va;
    case LOADER:
        return self.objects.loader_va + 64;
    default:
        return 4096;
    }
}

/* Judges a walk that found these frames, innermost first, and ended like this. */
static bool judge(enum hs_wait_kind kind, enum hs_unwind_end end, const enum place *places)
{
    static struct hs_remote_frame frames[16];
    stack.walk.frame_count = 0;
    stack.walk.cut_idx = 0;
    stack.walk.end = end;
    for (uint32_t i = 0; places[i] != NOWHERE; i++) {
        frames[i].pc = va_of(places[i]);
        frames[i].object = hs_remote_objects_at(&self.objects, frames[i].pc);
        frames[i].function_va = places[i] == JIT ? 0 : frames[i].pc;
        stack.walk.frames[i] = i;
        stack.walk.frame_count++;
    }
    struct hs_remote_frame *kept = stack.frames;
    stack.frames = frames;
    bool is_safe = hs_safe_point_judge(&point, &stack, kind, why);
    stack.frames = kept;
    return is_safe;
}

#define PLACES(...)                                                                                \
    (const enum place[])                                                                           \
    {                                                                                              \
        __VA_ARGS__, NOWHERE                                                                       \
    }
/* The callers of main, and those of a thread. */
#define FROM_MAIN   PROGRAM, LIBC_START, LIBC_START, PROGRAM
#define FROM_THREAD PROGRAM, LIBC_START, LIBC_START

static void test_sure_waits(void **state)
{
    (void)state;
    assert_true(judge(HS_WAIT_SURE, HS_UNWIND_END, PLACES(POLL, FROM_MAIN)));
    assert_true(judge(HS_WAIT_SURE, HS_UNWIND_END, PLACES(INTERNAL, POLL, FROM_THREAD)));
    /* A stack whose walk ends early is accepted. */
    assert_true(judge(HS_WAIT_SURE, HS_UNWIND_NO_INFO, PLACES(POLL, JIT)));
    assert_true(judge(HS_WAIT_TIMED, HS_UNWIND_UNREADABLE, PLACES(POLL)));
    /* But not with these frames. */
    assert_false(judge(HS_WAIT_SURE, HS_UNWIND_END, PLACES(POLL, LOADER, FROM_MAIN)));
    assert_false(judge(HS_WAIT_SURE, HS_UNWIND_END, PLACES(POLL, MALLOC, FROM_MAIN)));
    assert_non_null(strstr(why, "libc.so.6"));
}

static void test_running(void **state)
{
    (void)state;
    assert_true(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(PROGRAM, FROM_MAIN)));
    assert_true(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(PROGRAM, FROM_THREAD)));
    assert_true(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(POLL, FROM_THREAD)));
    assert_false(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(MALLOC, FROM_MAIN)));
    assert_false(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(INTERNAL, FROM_MAIN)));
    assert_false(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(INTERNAL, MALLOC, FROM_MAIN)));
    assert_false(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(LOADER, FROM_MAIN)));
    /* Not walked to its end, or found by guessing. */
    assert_false(judge(HS_WAIT_RUNNING, HS_UNWIND_NO_INFO, PLACES(PROGRAM, PROGRAM)));
    assert_false(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(PROGRAM, JIT, FROM_MAIN)));
    assert_false(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(PROGRAM)));
}

static void test_futex(void **state)
{
    (void)state;
    assert_true(judge(HS_WAIT_FUTEX, HS_UNWIND_END, PLACES(INTERNAL, COND_WAIT, FROM_THREAD)));
    assert_true(
        judge(HS_WAIT_FUTEX, HS_UNWIND_END, PLACES(INTERNAL, INTERNAL, COND_WAIT, FROM_MAIN)));
    assert_false(judge(HS_WAIT_FUTEX, HS_UNWIND_END, PLACES(INTERNAL, MALLOC, FROM_THREAD)));
    assert_false(judge(HS_WAIT_FUTEX, HS_UNWIND_END, PLACES(INTERNAL, FROM_THREAD)));
    assert_false(judge(HS_WAIT_FUTEX, HS_UNWIND_END, PLACES(INTERNAL, POLL, FROM_THREAD)));
    assert_true(judge(HS_WAIT_FUTEX, HS_UNWIND_END, PLACES(INTERNAL, MUTEX_LOCK, FROM_THREAD)));
    /* pthread_join ends with a jump, so it has no frame. */
    assert_true(judge(HS_WAIT_FUTEX, HS_UNWIND_END, PLACES(INTERNAL, INTERNAL, JOINER, FROM_MAIN)));
    assert_false(judge(HS_WAIT_FUTEX, HS_UNWIND_END, PLACES(INTERNAL, SLEEPER, FROM_MAIN)));
}

/* In threads that begin or end, and in libc's own threads, all frames belong to libc. */
static void test_starts(void **state)
{
    (void)state;
    assert_false(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(LIBC_START, LIBC_START)));
    assert_false(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(POLL, LIBC_START, LIBC_START)));
    assert_false(judge(HS_WAIT_FUTEX, HS_UNWIND_END,
                       PLACES(INTERNAL, INTERNAL, INTERNAL, LIBC_START, LIBC_START)));
    assert_false(
        judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(PROGRAM, INTERNAL, LIBC_START, LIBC_START)));
}

static void test_own_malloc(void **state)
{
    (void)state;
    point.has_own_malloc = true;
    assert_true(judge(HS_WAIT_SURE, HS_UNWIND_END, PLACES(POLL, FROM_MAIN)));
    assert_false(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(PROGRAM, FROM_MAIN)));
    /* No allocator waits for an event, but an allocator may wait for a lock. */
    assert_true(judge(HS_WAIT_FUTEX, HS_UNWIND_END, PLACES(INTERNAL, COND_WAIT, FROM_MAIN)));
    assert_true(judge(HS_WAIT_FUTEX, HS_UNWIND_END, PLACES(INTERNAL, JOINER, FROM_MAIN)));
    assert_false(judge(HS_WAIT_FUTEX, HS_UNWIND_END, PLACES(INTERNAL, MUTEX_LOCK, FROM_MAIN)));
    assert_false(judge(HS_WAIT_FUTEX, HS_UNWIND_NO_INFO, PLACES(INTERNAL, COND_WAIT, JIT)));
    assert_false(judge(HS_WAIT_RUNNING, HS_UNWIND_END, PLACES(INTERNAL, COND_WAIT, FROM_MAIN)));
    point.has_own_malloc = false;
}

static void test_room(void **state)
{
    struct hs_remote_map items[] = {
        { 0x100000, 0x200000, true, true, false, false },   /* a heap */
        { 0x300000, 0x301000, false, false, false, false }, /* a guard */
        { 0x301000, 0x311000, true, true, false, false },   /* a thread's stack */
        { 0x7f00000, 0x7f21000, true, true, false, true },  /* the main thread's */
    };
    const struct hs_remote_maps maps = { items, 4, 4 };
    const uint64_t thread_va = 0x310f00;
    (void)state;
    assert_true(hs_safe_point_has_room(&maps, 0x310000, thread_va, 0xf000));
    assert_false(hs_safe_point_has_room(&maps, 0x310000, thread_va, 0xf001));
    /* On the heap: the stack of a coroutine, below which anything may be. */
    assert_false(hs_safe_point_has_room(&maps, 0x180000, thread_va, 0x1000));
    assert_false(hs_safe_point_has_room(&maps, 0x300800, thread_va, 16));
    assert_false(hs_safe_point_has_room(&maps, 0x250000, thread_va, 16));
    /* The kernel extends the stack downwards, as long as a gap to the next mapping remains. */
    assert_true(hs_safe_point_has_room(&maps, 0x7f00100, 0x1234, 0x10000));
    items[2].end_va = 0x7e00000;
    assert_false(hs_safe_point_has_room(&maps, 0x7f00100, 0x1234, 0x10000));
    assert_true(hs_safe_point_has_room(&maps, 0x7f20000, 0x1234, 0x10000));
}

/* --- the called function: our own code, and stubs as linkers make them ------------------------ */

static uint64_t noted_va;

static __attribute__((noinline)) void note(void)
{
    noted_va = (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static uint64_t pointer_va(const void *bytes)
{
    return (uint64_t)(uintptr_t)bytes;
}

/* A call as the compiler makes it. */
static void test_call(void **state)
{
    (void)state;
    note();
    assert_int_equal(hs_safe_point_callee(&self.memory, noted_va), (uint64_t)(uintptr_t)note);
}

struct code {
    uint8_t site[16]; /* ends with a call instruction */
    uint8_t stub[32]; /* entry of a procedure linkage table */
    uint64_t slot;
};

static void put_distance(uint8_t *field, uint64_t to_va)
{
    int32_t distance = (int32_t)(to_va - (pointer_va(field) + 4));
    memcpy(field, &distance, sizeof(distance));
}

static uint64_t called(const struct code *code)
{
    return hs_safe_point_callee(&self.memory, pointer_va(code->site) + sizeof(code->site));
}

static void test_linkage_tables(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
    } stubs[] = { { "\xff\x25", 2 },
                  { "\xf2\xff\x25", 3 },
                  { "\xf3\x0f\x1e\xfa\xff\x25", 6 },
                  { "\xf3\x0f\x1e\xfa\xf2\xff\x25", 7 } };
    (void)state;
    for (size_t i = 0; i < sizeof(stubs) / sizeof(stubs[0]); i++) {
        static struct code code;
        code.slot = 0x123456789abc;
        code.site[11] = 0xe8;
        put_distance(code.site + 12, pointer_va(code.stub));
        memcpy(code.stub, stubs[i].bytes, stubs[i].count);
        put_distance(code.stub + stubs[i].count, pointer_va(&code.slot));
        assert_int_equal(called(&code), code.slot);
        code.stub[stubs[i].count - 1] = 0x24; /* any other jump: the result is the call's own
                                               * target */
        assert_int_equal(called(&code), pointer_va(code.stub));
    }
}

static void test_without_a_table(void **state)
{
    static struct code code = { .slot = 4711 };
    (void)state;
    code.site[10] = 0xff;
    code.site[11] = 0x15;
    put_distance(code.site + 12, pointer_va(&code.slot));
    assert_int_equal(called(&code), 4711);
    put_distance(code.site + 12, pointer_va(&code.slot) + 0x40000000); /* nothing is mapped there */
    assert_int_equal(called(&code), 0);
}

static void test_no_call(void **state)
{
    static struct code code;
    (void)state;
    assert_int_equal(called(&code), 0);
    assert_int_equal(hs_safe_point_callee(&self.memory, 0), 0);
    assert_int_equal(hs_safe_point_callee(&self.memory, 4096), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sure_waits),
        cmocka_unit_test(test_running),
        cmocka_unit_test(test_futex),
        cmocka_unit_test(test_starts),
        cmocka_unit_test(test_own_malloc),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_linkage_tables),
        cmocka_unit_test(test_without_a_table),
        cmocka_unit_test(test_no_call),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
