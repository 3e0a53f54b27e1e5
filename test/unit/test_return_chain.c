/* The pieces of the return chain, in our own libc; test_inject_killed.py runs the chain itself. */
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/return_frame.h"
#include "inject/ptrace/return_chain.h"

#define BIT(number) (UINT64_C(1) << ((number)-1))

extern void __fentry__(void);

static void test_bell(void **state)
{
    const uint64_t harmless = BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCHLD);
    (void)state;
    assert_int_equal(hs_return_chain_choose_signal(0, 0), SIGURG);
    assert_int_equal(hs_return_chain_choose_signal(0, BIT(SIGURG)), SIGWINCH);
    assert_int_equal(hs_return_chain_choose_signal(BIT(SIGPIPE), BIT(SIGURG) | BIT(SIGWINCH)),
                     SIGCHLD);
    assert_int_equal(hs_return_chain_choose_signal(BIT(SIGPIPE), harmless), SIGPIPE);
    assert_int_equal(hs_return_chain_choose_signal(BIT(SIGSEGV) | BIT(SIGTERM), harmless), SIGURG);
}

struct code {
    uint64_t start_va, end_va;
};

/* Finds the segment that contains setcontext. */
static int find_code(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct code *code = ctx;
    uint64_t want_va = (uint64_t)(uintptr_t)setcontext;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uint64_t start_va = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            want_va - start_va < info->dlpi_phdr[i].p_memsz) {
            *code = (struct code){ start_va, start_va + info->dlpi_phdr[i].p_memsz };
        }
    }
    return 0;
}

static void test_find(void **state)
{
    struct hs_remote_memory memory;
    struct hs_return_chain way;
    struct code code = { 0, 0 };
    uint64_t keeper_va = (uint64_t)(uintptr_t)__fentry__;
    uint64_t setcontext_va = (uint64_t)(uintptr_t)setcontext;
    (void)state;
    dl_iterate_phdr(find_code, &code);
    assert_int_equal(hs_remote_memory_open(getpid(), &memory), 0);
    assert_true(
        hs_return_chain_find(&way, &memory, code.start_va, code.end_va, keeper_va, setcontext_va));
    assert_memory_equal((void *)(uintptr_t)way.gadget_va, HS_RETURN_GADGET, HS_RETURN_GADGET_BYTES);
    assert_int_equal(hs_return_starter_calls((uint8_t *)(uintptr_t)way.starter_va, way.starter_va),
                     setcontext_va);
    /* Other code is not mistaken for it. */
    assert_false(hs_return_chain_find(&way, &memory, code.start_va, code.end_va, setcontext_va,
                                      setcontext_va));
    assert_false(
        hs_return_chain_find(&way, &memory, code.start_va, code.end_va, keeper_va, keeper_va));
    assert_false(hs_return_chain_find(&way, &memory, code.start_va, code.start_va, keeper_va,
                                      setcontext_va));
    hs_remote_memory_close(&memory);
}

static void test_number(void **state)
{
    uint8_t code[HS_RETURN_CALL_CODE_BYTES] = { 0 };
    (void)state;
    assert_int_equal(hs_return_number(code), -1);
    memcpy(code + 11, "\xb8\xe6\x00\x00\x00\x0f\x05", 7); /* mov $230,%eax; syscall */
    assert_int_equal(hs_return_number(code), SYS_clock_nanosleep);
    code[12] = 0x01; /* write */
    assert_int_equal(hs_return_number(code), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bell),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
