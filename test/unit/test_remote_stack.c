/* The stack of a waiting child, which is stopped and walked from outside. */
#include <setjmp.h>

#include "inject/ptrace/tracee.h"
#include "inject/remote/remote_stack.h"
#include "waiting_child.h"

#define NOINLINE __attribute__((noinline))
#define DEEP     300

static volatile int sink;

static NOINLINE void wait_here(void)
{
    while (sink >= 0) {
        pause();
        sink++;
    }
}

static NOINLINE void call_deep(int depth)
{
    volatile char pad[100];
    pad[0] = 1;
    if (depth > 0) {
        call_deep(depth - 1);
    } else {
        wait_here();
    }
    sink += pad[0];
}

static NOINLINE void wait_shallow(void)
{
    call_deep(1);
    sink++;
}

static NOINLINE void wait_deep(void)
{
    call_deep(DEEP);
    sink++;
}

static NOINLINE void on_signal(int number)
{
    (void)number;
    call_deep(0);
    sink++;
}

static NOINLINE void wait_in_handler(void)
{
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    sink++;
}

static uint32_t find(const struct hs_remote_stack *stack, void (*function)(void), uint32_t from)
{
    for (uint32_t i = from; i < stack->walk.frame_count; i++) {
        if (hs_remote_stack_frame(stack, i)->function_va == (uint64_t)(uintptr_t)function) {
            return i;
        }
    }
    return UINT32_MAX;
}

struct world {
    pid_t pid;
    struct hs_wait wait;
    struct remote_self child;
    struct hs_remote_stack stack;
    struct hs_tracee tracee;
};

static void look_at(struct world *world, void (*wait_there)(void))
{
    world->pid = waiting_child_start(wait_there, &world->wait);
    remote_self_init(&world->child, world->pid);
    assert_int_equal(hs_remote_stack_init(&world->stack, &world->child.memory,
                                          &world->child.objects, &world->child.maps),
                     0);
    world->tracee.pid = world->pid;
    world->tracee.memory = &world->child.memory;
    assert_int_equal(hs_tracee_stop(&world->tracee, world->pid, UINT64_MAX), HS_TRACEE_STOPPED);
    assert_int_equal(hs_remote_pc(&world->tracee.start), world->wait.pc);
    assert_int_equal(hs_remote_sp(&world->tracee.start), world->wait.sp);
    struct hs_regs regs = hs_remote_unwind_regs(&world->tracee.start);
    for (int i = 0; i < 3; i++) { /* with an empty cache, a full cache, and after the cache was
                                   * cleared */
        hs_remote_stack_walk(&world->stack, &regs);
        assert_int_equal(world->stack.walk.end, HS_UNWIND_END);
        if (i == 1) {
            hs_remote_stack_forget(&world->stack);
        }
    }
}

static void leave(struct world *world)
{
    assert_int_equal(hs_tracee_release(&world->tracee), 0);
    waiting_child_end(world->pid);
    hs_remote_stack_deinit(&world->stack);
    remote_self_deinit(&world->child);
}

static void test_shallow(void **state)
{
    static struct world world;
    (void)state;
    look_at(&world, wait_shallow);
    uint32_t inner = find(&world.stack, wait_here, 0);
    assert_true(inner >= 1 && inner < 4); /* pause() and the functions inside it */
    uint32_t outer = find(&world.stack, wait_shallow, inner);
    assert_int_equal(outer, inner + 3);
    const struct hs_remote_frame *frame = hs_remote_stack_frame(&world.stack, inner);
    assert_ptr_equal(frame->object, &world.child.objects.items[0]);
    leave(&world);
}

static void test_deep(void **state)
{
    static struct world world;
    (void)state;
    look_at(&world, wait_deep);
    assert_true(world.stack.walk.cut_idx != 0);
    assert_true(find(&world.stack, wait_here, 0) < 4);
    assert_true(find(&world.stack, wait_deep, world.stack.walk.cut_idx) != UINT32_MAX);
    leave(&world);
}

static void test_handler(void **state)
{
    static struct world world;
    (void)state;
    look_at(&world, wait_in_handler);
    uint32_t handler = find(&world.stack, (void (*)(void))(void *)on_signal, 0);
    assert_true(handler != UINT32_MAX);
    assert_true(find(&world.stack, wait_in_handler, handler) != UINT32_MAX);
    leave(&world);
}

static void test_nowhere(void **state)
{
    static struct world world;
    (void)state;
    look_at(&world, wait_shallow);
    static const struct hs_regs starts[] = { { 0 },
                                             { .pc = 16, .sp = 16 },
                                             { .pc = UINT64_MAX, .sp = UINT64_MAX } };
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        hs_remote_stack_walk(&world.stack, &starts[i]);
        assert_int_equal(world.stack.walk.frame_count, 0);
    }
    struct hs_regs no_stack = { .pc = world.wait.pc, .sp = 64 };
    hs_remote_stack_walk(&world.stack, &no_stack);
    assert_int_equal(world.stack.walk.end, HS_UNWIND_UNREADABLE);
    leave(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shallow),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_handler),
        cmocka_unit_test(test_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
