/*
 * Detours of real functions. The test writes their code into its own memory, detours them, and
 * calls them both ways.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "arch/detour.h"
#include "rt/base.h"

#define PAGE 4096U

/* A page with functions at its start, slots at its end, and data in the middle. */
struct world {
    uint8_t *code;
    uint8_t *slot;
    uint64_t *data;
};

typedef uint64_t function_fn(uint64_t a);

static uint64_t hook(uint64_t a)
{
    return a + 1000;
}

static uint64_t seven_times(uint64_t a)
{
    return 7 * a;
}

static int set_up(void **state)
{
    static struct world world;
    uint8_t *page =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return -1;
    }
    world = (struct world){ page, page + PAGE - HS_DETOUR_SLOT_BYTES,
                            (uint64_t *)(void *)(page + 2048) };
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    return munmap(world->code, PAGE);
}

struct example {
    const char *text;
    const char *code;
    size_t code_bytes;
    int error;
};

#define CODE(bytes) (bytes), sizeof(bytes) - 1
/*
 * Each except the last few returns 7 * a for a other than 0, and any value for 0. *data, 2048 bytes
 * after the start, is 7.
 */
static const struct example examples[] = {
    /* imul $7,%rdi,%rax; nop; ret */
    { "plain", CODE("\x48\x6b\xc7\x07\x90\xc3"), HS_DETOUR_DONE },
    /* endbr64; imul $7,%rdi,%rax; ret */
    { "landing", CODE("\xf3\x0f\x1e\xfa\x48\x6b\xc7\x07\xc3"), HS_DETOUR_DONE },
    /* push %rbx; mov %rdi,%rax; imul $7,%rax,%rax; pop %rbx; ret */
    { "pushes", CODE("\x53\x48\x89\xf8\x48\x6b\xc0\x07\x5b\xc3"), HS_DETOUR_DONE },
    /* mov 0x7f9(%rip),%rax; imul %rdi,%rax; ret */
    { "memory", CODE("\x48\x8b\x05\xf9\x07\0\0\x48\x0f\xaf\xc7\xc3"), HS_DETOUR_DONE },
    /* test %rdi,%rdi; je 1f; imul $7,%rdi,%rax; ret; 1: xor %eax,%eax; ret */
    { "branch", CODE("\x48\x85\xff\x74\x05\x48\x6b\xc7\x07\xc3\x31\xc0\xc3"), HS_DETOUR_DONE },
    /* The same with the longer form of the branch. */
    { "near branch", CODE("\x48\x85\xff\x0f\x84\x05\0\0\0\x48\x6b\xc7\x07\xc3\x31\xc0\xc3"),
      HS_DETOUR_DONE },
    /* jmp 1f; int3; 1: imul $7,%rdi,%rax; ret */
    { "jump", CODE("\xe9\x01\0\0\0\xcc\x48\x6b\xc7\x07\xc3"), HS_DETOUR_DONE },
    /* call 1f; ret; 1: imul $7,%rdi,%rax; ret */
    { "call", CODE("\xe8\x01\0\0\0\xc3\x48\x6b\xc7\x07\xc3"), HS_DETOUR_DONE },
    /* push %rdi; call 1f; pop %rdi; ret; 1: imul...; ret */
    { "push, call", CODE("\x57\xe8\x02\0\0\0\x5f\xc3\x48\x6b\xc7\x07\xc3"), HS_DETOUR_DONE },
    /* call *0x802(%rip); ret: the pointer behind *data points to seven_times */
    { "call by a pointer", CODE("\xff\x15\x02\x08\0\0\xc3"), HS_DETOUR_DONE },
    /* movabs $7,%rax; imul %rdi,%rax; ret */
    { "long", CODE("\x48\xb8\x07\0\0\0\0\0\0\0\x48\x0f\xaf\xc7\xc3"), HS_DETOUR_DONE },
    /* Functions that are refused. */
    { "empty", CODE("\xc3"), HS_DETOUR_SHORT },
    { "ends too early", CODE("\x31\xc0\xc3\x90\x90\x90"), HS_DETOUR_SHORT },
    { "short jump", CODE("\xeb\x03\x90\x90\x90\xc3"), HS_DETOUR_SHORT },
    { "calls a register", CODE("\xff\xd0\x31\xc0\x90\xc3"), HS_DETOUR_CALLS },
    { "unknown", CODE("\x90\x90\x06\x90\x90\xc3"), HS_DETOUR_UNKNOWN },
    { "unknown behind", CODE("\x48\x6b\xc7\x07\x90\x06\xc3"), HS_DETOUR_UNKNOWN },
    { "cut", CODE("\x48\x6b\xc7\x07\x90\x48"), HS_DETOUR_UNKNOWN },
    { "jrcxz", CODE("\x90\xe3\x03\x90\x90\x90\xc3"), HS_DETOUR_UNKNOWN },
    /* nop; 1: dec %rdi; jne 1b; nop; ret */
    { "loop", CODE("\x90\x48\xff\xcf\x75\xfb\x90\xc3"), HS_DETOUR_LOOPS },
    /* dec %rdi; nop; nop; jne start; ret */
    { "loop to its start", CODE("\x48\xff\xcf\x90\x90\x75\xf9\xc3"), HS_DETOUR_LOOPS },
    /* A jump to the first byte behind the patch is allowed; this code is never called. */
    { "loop behind", CODE("\x90\x90\x90\x90\x90\x48\xff\xcf\x75\xfb\x48\x6b\xc7\x07\xc3"),
      HS_DETOUR_DONE },
};

static int make(const struct world *world, const struct example *e, struct hs_detour *ret_detour)
{
    memcpy(world->code, e->code, e->code_bytes);
    world->data[0] = 7;
    world->data[1] = (uint64_t)(uintptr_t)seven_times;
    return hs_detour_make(world->code, e->code_bytes, (uint64_t)(uintptr_t)world->code,
                          (uint64_t)(uintptr_t)world->slot, (uint64_t)(uintptr_t)hook, ret_detour);
}

static void test_both_ways(void **state)
{
    const struct world *world = *state;
    function_fn *entry = (function_fn *)(uintptr_t)world->code;
    function_fn *real = (function_fn *)((uintptr_t)world->slot + HS_DETOUR_REAL_OFF);
    for (size_t i = 0; i < HS_COUNT_OF(examples); i++) {
        const struct example *e = &examples[i];
        struct hs_detour detour;
        uint8_t was[HS_DETOUR_PATCH_BYTES];
        int error = make(world, e, &detour);
        if (error != e->error) {
            fail_msg("%s: %s", e->text, hs_detour_error_words(error));
        }
        if (error || strncmp(e->text, "loop", 4) == 0) {
            continue;
        }
        memcpy(world->slot, detour.slot, sizeof(detour.slot));
        memcpy(was, world->code, sizeof(was));
        if (real(3) != 21) {
            fail_msg("%s: before the entry is changed", e->text);
        }
        memcpy(world->code, detour.patch, sizeof(detour.patch));
        if (entry(3) != 1003 || real(3) != 21) {
            fail_msg("%s: %d, %d", e->text, (int)entry(3), (int)real(3));
        }
        memcpy(world->code, was, sizeof(was));
        if (entry(3) != 21 || real(3) != 21) {
            fail_msg("%s: after it was changed back", e->text);
        }
    }
}

static void test_far(void **state)
{
    const struct world *world = *state;
    struct hs_detour detour;
    const struct example *e = &examples[0];
    uint64_t here = (uint64_t)(uintptr_t)world->code;
    make(world, e, &detour);
    assert_int_equal(
        hs_detour_make(world->code, e->code_bytes, here, here + (UINT64_C(3) << 30), 0, &detour),
        HS_DETOUR_FAR);
    assert_int_equal(
        hs_detour_make(world->code, e->code_bytes, here, here + (UINT64_C(1) << 30), 0, &detour),
        HS_DETOUR_DONE);
}

static void test_words(void **state)
{
    (void)state;
    for (int i = 0; i < HS_DETOUR_ERROR_N; i++) {
        assert_true(strlen(hs_detour_error_words(i)) > 10);
    }
    assert_non_null(hs_detour_error_words(-1));
    assert_non_null(hs_detour_error_words(HS_DETOUR_ERROR_N));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_both_ways),
                                        cmocka_unit_test(test_far), cmocka_unit_test(test_words) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
