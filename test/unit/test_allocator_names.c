/*
 * Tests of collect/allocator_names and collect/symbol_file: which functions of a program belong to
 * an allocator, and what the program's file says about them.
 */
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/inspect/allocator_names.h"
#include "collect/inspect/symbol_file.h"

static struct hs_allocator_names names;
static char words[300];

static void take(const char *name, uint64_t va)
{
    const struct hs_remote_symbol symbol = { .va = va, .size_bytes = 64, .type = STT_FUNC };
    hs_allocator_names_take(&names, name, &symbol);
}

static bool choose(uint64_t malloc_va)
{
    words[0] = '\0';
    return hs_allocator_names_choose(&names, malloc_va, words, sizeof(words));
}

/* NULL: no function was recognized as this one. */
static const struct hs_allocator_symbol *find(const char *prefix, const char *name)
{
    for (size_t i = 0; i < names.family_count; i++) {
        for (size_t k = 0; k < HS_ALLOCATOR_FUNCTION_COUNT; k++) {
            if (strcmp(names.families[i].prefix, prefix) == 0 &&
                strcmp(hs_allocator_functions[k].name, name) == 0 &&
                names.families[i].functions[k].is_there) {
                return &names.families[i].functions[k];
            }
        }
    }
    return NULL;
}

static void test_known_prefixes(void **state)
{
    static const char *const pairs[][2] = {
        { "je_malloc", "je_free" },
        { "_rjem_mallocx", "_rjem_sdallocx" },
        { "mi_malloc_aligned", "mi_free" },
        { "tc_malloc", "tc_free" },
        { "sn_rust_alloc", "sn_rust_dealloc" },
        { "malloc", "free" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        hs_allocator_names_init(NULL, &names);
        take(pairs[i][0], 0x1000);
        assert_true(choose(0));
        assert_int_equal(names.chosen_count, 0);
        take(pairs[i][1], 0x2000);
        assert_true(choose(0));
        assert_int_equal(names.chosen_count, 1);
    }
}

static void test_wrappers_are_not_taken(void **state)
{
    static const char *const others[] = { "xmalloc",
                                          "xfree",
                                          "g_malloc",
                                          "g_free",
                                          "sqlite3_malloc",
                                          "sqlite3_free",
                                          "_rjem_je_malloc_default",
                                          "je_malloc_default",
                                          "mi_delete",
                                          "mi_",
                                          "" };
    (void)state;
    hs_allocator_names_init(NULL, &names);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        take(others[i], 0x1000 * i);
    }
    assert_true(choose(0));
    assert_int_equal(names.chosen_count, 0);
    assert_null(find("mi_", "delete"));
}

static void test_prefix_of_the_user(void **state)
{
    (void)state;
    hs_allocator_names_init("my_", &names);
    take("my_malloc", 0x1000);
    take("my_free", 0x2000);
    take("my_malloc_aligned", 0x3000);
    take("je_malloc", 0x4000);
    take("je_free", 0x5000);
    assert_true(choose(0));
    assert_int_equal(names.chosen_count, 1);
    assert_int_equal(find("my_", "malloc_aligned")->at.va, 0x3000);
    assert_null(find("je_", "malloc"));
    hs_allocator_names_init(HS_ALLOCATOR_NONE, &names);
    take("je_malloc", 0x4000);
    take("je_free", 0x5000);
    assert_true(choose(0));
    assert_int_equal(names.chosen_count, 0);
}

static void test_two_allocators(void **state)
{
    (void)state;
    hs_allocator_names_init(NULL, &names);
    take("je_malloc", 0x1000);
    take("je_free", 0x2000);
    take("mi_malloc", 0x3000);
    take("mi_free", 0x4000);
    assert_true(choose(0));
    assert_int_equal(names.chosen_count, 2);
    assert_int_equal(names.families[1].set, 0);
    assert_int_equal(names.families[3].set, 1);
    /* But a third one is not accepted. */
    hs_allocator_names_init(NULL, &names);
    take("je_malloc", 0x1000);
    take("je_free", 0x2000);
    take("mi_malloc", 0x3000);
    take("mi_free", 0x4000);
    take("tc_malloc", 0x5000);
    take("tc_free", 0x6000);
    assert_false(choose(0));
    assert_non_null(strstr(words, "that of tc_malloc"));
    assert_non_null(strstr(words, "--allocator tc_"));
}

static void test_beside_an_exported_malloc(void **state)
{
    (void)state;
    hs_allocator_names_init(NULL, &names);
    take("mi_malloc", 0x1000);
    take("mi_free", 0x2000);
    take("je_malloc", 0x3000);
    take("je_free", 0x4000);
    assert_true(choose(0x1000));
    assert_int_equal(names.chosen_count, 1);
    assert_true(names.families[3].is_chosen);
    assert_string_equal(names.families[3].prefix, "mi_");
}

static void test_operators_have_no_prefix(void **state)
{
    (void)state;
    hs_allocator_names_init("my_", &names);
    take("_Znwm", 0x1000);
    take("_ZdlPv", 0x2000);
    take("_ZdlPvX", 0x3000);
    assert_int_equal(find("my_", "_Znwm")->at.va, 0x1000);
    assert_int_equal(find("my_", "_ZdlPv")->at.va, 0x2000);
    assert_true(choose(0)); /* on their own they do not make an allocator */
    assert_int_equal(names.chosen_count, 0);
}

static void test_copies_and_namesakes(void **state)
{
    (void)state;
    hs_allocator_names_init(NULL, &names);
    take("je_free", 0x1000);
    take("je_free", 0x1000);
    take("je_free.cold", 0x1800);
    assert_false(find("je_", "free")->is_twice);
    assert_false(find("je_", "free")->has_copy);
    take("je_free.constprop.0", 0x2000);
    assert_true(find("je_", "free")->has_copy);
    take("je_free", 0x3000);
    assert_true(find("je_", "free")->is_twice);
    assert_int_equal(find("je_", "free")->at.va, 0x1000);
}

/* --- files ------------------------------------------------------------------------------------ */

__attribute__((noinline, used)) static void find_me(void)
{
    __asm__ volatile("nop");
}

static uint64_t found_sva;

static void note(void *ctx, const char *name, uint64_t sva, uint64_t size_bytes, unsigned type)
{
    unsigned *count = ctx;
    ++*count;
    if (strcmp(name, "find_me") == 0) {
        assert_int_equal(type, STT_FUNC);
        assert_true(size_bytes > 0);
        found_sva = sva;
    }
}

static uint64_t own_bias(void)
{
    extern struct r_debug _r_debug;
    return _r_debug.r_map->l_addr;
}

static void test_own_file(void **state)
{
    const struct hs_remote_object program = { .bias_va = own_bias() };
    const struct hs_remote_object other = { .bias_va = own_bias() + 4096 };
    struct hs_remote_memory memory;
    unsigned count = 0;
    (void)state;
    assert_int_equal(hs_remote_memory_open(getpid(), &memory), 0);
    assert_true(hs_symbol_file_read_program(getpid(), &memory, &program, note, &count));
    assert_true(count > 20);
    assert_int_equal(program.bias_va + found_sva, (uint64_t)(uintptr_t)find_me);
    /* Not at the addresses where the program is mapped, and not for another program. */
    count = 0;
    assert_false(hs_symbol_file_read_program(getpid(), &memory, &other, note, &count));
    int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_false(hs_symbol_file_is_program(fd, &memory, program.bias_va));
    assert_false(hs_symbol_file_read(fd, note, &count)); /* it is stripped */
    assert_int_equal(count, 0);
    close(fd);
    hs_remote_memory_close(&memory);
}

static int on_object(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    const uint8_t *id = ctx;
    size_t id_bytes = 20;
    (void)bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_NOTE &&
            memmem((void *)(info->dlpi_addr + part->p_vaddr), part->p_memsz, id, id_bytes)) {
            return 1;
        }
    }
    return 2;
}

static void test_build_id(void **state)
{
    uint8_t id[64];
    (void)state;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(hs_symbol_file_build_id(fd, id), 20);
    assert_int_equal(dl_iterate_phdr(on_object, id), 1); /* the first object is the program */
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_prefixes),
        cmocka_unit_test(test_wrappers_are_not_taken),
        cmocka_unit_test(test_prefix_of_the_user),
        cmocka_unit_test(test_two_allocators),
        cmocka_unit_test(test_beside_an_exported_malloc),
        cmocka_unit_test(test_operators_have_no_prefix),
        cmocka_unit_test(test_copies_and_namesakes),
        cmocka_unit_test(test_own_file),
        cmocka_unit_test(test_build_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
