/*
 * The loader's list and symbols read from outside, compared with what the loader itself says; and
 * invalid lists.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "remote_self.h"

static struct remote_self self;

static int setup(void **state)
{
    (void)state;
    remote_self_init(&self, getpid());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    remote_self_deinit(&self);
    return 0;
}

static int compare_object(struct dl_phdr_info *info, size_t unused_bytes, void *arg)
{
    size_t *idx = arg;
    (void)unused_bytes;
    assert_true(*idx < self.objects.count);
    const struct hs_remote_object *object = &self.objects.items[(*idx)++];
    assert_int_equal(object->bias_va, info->dlpi_addr);
    uint64_t start_va = UINT64_MAX, end_va = 0, eh_hdr_va = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t va = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD) {
            start_va = va < start_va ? va : start_va;
            end_va = va + part->p_memsz > end_va ? va + part->p_memsz : end_va;
        } else if (part->p_type == PT_GNU_EH_FRAME) {
            eh_hdr_va = va;
        }
    }
    assert_int_equal(object->start_va, start_va);
    assert_int_equal(object->end_va, end_va);
    assert_int_equal(object->eh_hdr_va, eh_hdr_va);
    return 0;
}

static void test_list(void **state)
{
    size_t idx = 0;
    (void)state;
    dl_iterate_phdr(compare_object, &idx);
    assert_int_equal(idx, self.objects.count);
    assert_non_null(strstr(self.objects.loader, "ld-linux"));
    assert_true(hs_remote_objects_are_settled(&self.memory, &self.objects));
    assert_ptr_equal(hs_remote_objects_at(&self.objects, (uint64_t)(uintptr_t)test_list),
                     &self.objects.items[0]);
    assert_null(hs_remote_objects_at(&self.objects, 16));
}

static void test_symbols(void **state)
{
    static const char *const names[] = {
        "dlopen",   "malloc", "syscall", "__errno_location", "pthread_cond_wait",
        "_r_debug", "environ"
    };
    (void)state;
    /* Not RTLD_DEFAULT, because a sanitizer defines some of them too. */
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(libc);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct hs_remote_symbol symbol;
        print_message("  %s\n", names[i]);
        assert_non_null(hs_remote_objects_search(&self.memory, &self.objects, names[i], &symbol));
        assert_int_equal(symbol.va, (uint64_t)(uintptr_t)dlsym(libc, names[i]));
    }
    dlclose(libc);
    struct hs_remote_symbol unused;
    assert_null(hs_remote_objects_search(&self.memory, &self.objects, "no_such_name", &unused));
    /* The program uses it but does not define it. */
    assert_false(hs_remote_objects_symbol(&self.memory, &self.objects.items[0], "dlopen", &unused));
}

static void test_text(void **state)
{
    char text[8];
    (void)state;
    hs_remote_memory_read_text(&self.memory, (uint64_t)(uintptr_t) "hello", text, sizeof(text));
    assert_string_equal(text, "hello");
    hs_remote_memory_read_text(&self.memory, (uint64_t)(uintptr_t) "hello, world", text,
                               sizeof(text));
    assert_string_equal(text, "hello, ");
    hs_remote_memory_read_text(&self.memory, 8, text, sizeof(text));
    assert_string_equal(text, "");
    hs_remote_memory_read_text(&self.memory, UINT64_MAX - 2, text, sizeof(text));
    assert_string_equal(text, "");
    /* At the end of a mapping. */
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    munmap(page + 4096, 4096);
    memset(page, 'x', 4096);
    hs_remote_memory_read_text(&self.memory, (uint64_t)(uintptr_t)page + 4093, text, sizeof(text));
    assert_string_equal(text, "xxx");
    munmap(page, 4096);
}

static void test_read_budget(void **state)
{
    uint32_t reads_left = 2;
    char byte;
    (void)state;
    struct hs_remote_memory memory = { self.memory.fd, &reads_left };
    assert_int_equal(hs_remote_memory_read(&memory, (uint64_t)(uintptr_t) "a", &byte, 1), 0);
    assert_int_equal(hs_remote_memory_read(&memory, (uint64_t)(uintptr_t) "a", &byte, 1), 0);
    assert_int_equal(hs_remote_memory_read(&memory, (uint64_t)(uintptr_t) "a", &byte, 1), -ESRCH);
}

/* A list that is a cycle, in memory that the test makes; addresses are offsets. */
static void test_endless_list(void **state)
{
    struct {
        ElfW(Phdr) headers[3];
        ElfW(Dyn) dynamic[2];
        struct r_debug debug;
        struct link_map map;
    } image = { 0 };
    (void)state;
    const uint64_t base = 4096;
    image.headers[0] = (ElfW(Phdr)){ .p_type = PT_PHDR, .p_vaddr = base };
    image.headers[1] =
        (ElfW(Phdr)){ .p_type = PT_DYNAMIC,
                      .p_vaddr = base + (uint64_t)((char *)image.dynamic - (char *)&image) };
    image.headers[2] = (ElfW(Phdr)){ .p_type = PT_INTERP, .p_vaddr = base };
    image.dynamic[0].d_tag = DT_DEBUG;
    image.dynamic[0].d_un.d_ptr = base + (uint64_t)((char *)&image.debug - (char *)&image);
    uint64_t map_va = base + (uint64_t)((char *)&image.map - (char *)&image);
    image.debug.r_map = (struct link_map *)(uintptr_t)map_va;
    image.map.l_next = (struct link_map *)(uintptr_t)map_va;
    struct hs_remote_memory memory = { memfd_create("image", 0), NULL };
    assert_true(memory.fd >= 0);
    assert_int_equal(pwrite(memory.fd, &image, sizeof(image), (off_t)base), sizeof(image));
    struct hs_remote_program program = { base, 3, 0 };
    struct hs_remote_objects objects = { 0 };
    assert_int_equal(hs_remote_objects_walk(&program, &memory, &objects), HS_INJECT_BAD_MEMORY);
    program.header_count = 100000;
    assert_int_equal(hs_remote_objects_walk(&program, &memory, &objects), HS_INJECT_BAD_MEMORY);
    program.header_count = 1;
    assert_int_equal(hs_remote_objects_walk(&program, &memory, &objects), HS_INJECT_STATIC);
    hs_remote_objects_deinit(&objects);
    close(memory.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_list, setup, teardown),
        cmocka_unit_test_setup_teardown(test_symbols, setup, teardown),
        cmocka_unit_test_setup_teardown(test_text, setup, teardown),
        cmocka_unit_test_setup_teardown(test_read_budget, setup, teardown),
        cmocka_unit_test(test_endless_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
