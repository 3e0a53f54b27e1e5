/*
 * collect/types/process_memory: what is where in a process, and reading that changes nothing there.
 * The process is this one.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/types/block_types.h"
#include "collect/types/process_memory.h"
#include "rt/base.h"

#define PAGE 4096U

static const char constant[] = "in constant memory";
static char data[] = "in a module's data";

static void function(void)
{
}

/* A vtable without RTTI, as far as its symbol and its content tell. */
typedef void function_type(void);
extern function_type *const vtable[4] __asm__("_ZTV3Foo");
function_type *const vtable[4] = { NULL, NULL, function, function };

struct fixture {
    struct hs_address_space space;
    struct hs_process_memory process;
    struct hs_type_memory memory;
};

static uint64_t va_of(const void *at)
{
    return (uintptr_t)at;
}

static void open_memory(struct fixture *fixture)
{
    assert_int_equal(hs_address_space_read(getpid(), &fixture->space), 0);
    assert_int_equal(hs_process_memory_open(getpid(), &fixture->space, &fixture->process), 0);
    hs_process_memory_view(&fixture->process, &fixture->memory);
}

static void close_memory(struct fixture *fixture)
{
    hs_process_memory_close(&fixture->process);
    hs_address_space_deinit(&fixture->space);
}

static bool read_at(struct fixture *fixture, const void *at, void *ret_bytes, size_t size_bytes)
{
    return fixture->memory.read(fixture->memory.ctx, va_of(at), ret_bytes, size_bytes);
}

static enum hs_type_place place_at(struct fixture *fixture, uint64_t va)
{
    return fixture->memory.place(fixture->memory.ctx, va);
}

static void test_places(void **state)
{
    static struct fixture fixture;
    void *block = malloc(100);
    void *none = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *constants = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char bytes[sizeof(constant)];
    (void)state;
    open_memory(&fixture);
    assert_int_equal(place_at(&fixture, va_of(constant)), HS_TYPE_PLACE_CONSTANT);
    assert_int_equal(place_at(&fixture, va_of(data)), HS_TYPE_PLACE_DATA);
    assert_int_equal(place_at(&fixture, (uintptr_t)test_places), HS_TYPE_PLACE_CODE);
    assert_int_equal(place_at(&fixture, va_of(block)), HS_TYPE_PLACE_MEMORY);
    assert_int_equal(place_at(&fixture, va_of(bytes)), HS_TYPE_PLACE_MEMORY);
    assert_int_equal(place_at(&fixture, va_of(none)), HS_TYPE_PLACE_NONE);
    assert_int_equal(place_at(&fixture, va_of(constants)), HS_TYPE_PLACE_MEMORY);
    assert_int_equal(place_at(&fixture, 0), HS_TYPE_PLACE_NONE);
    assert_int_equal(place_at(&fixture, UINT64_MAX), HS_TYPE_PLACE_NONE);
    assert_true(read_at(&fixture, constant, bytes, sizeof(bytes)));
    assert_string_equal(bytes, constant);
    assert_false(read_at(&fixture, none, bytes, 1));
    close_memory(&fixture);
    munmap(none, PAGE);
    munmap(constants, PAGE);
    free(block);
}

/* Pages that were never touched: of a file, which has the bytes, and of none. */
static void test_untouched(void **state)
{
    static struct fixture fixture;
    static char page[2 * PAGE];
    char name[] = "/tmp/test_process_memory.XXXXXX";
    char got[40] = "";
    int fd = mkstemp(name);
    (void)state;
    assert_true(fd >= 0);
    memset(page, 'x', sizeof(page));
    memcpy(page + PAGE - 10, "across the end of a page", 24);
    assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
    char *file = mmap(NULL, sizeof(page), PROT_READ, MAP_PRIVATE, fd, 0);
    char *written = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    char *empty = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    open_memory(&fixture);
    assert_true(read_at(&fixture, file + PAGE - 10, got, 24));
    assert_string_equal(got, "across the end of a page");
    assert_false(read_at(&fixture, written, got, 8));
    assert_false(read_at(&fixture, empty, got, 8));
    const char *pages[] = { file, file + PAGE, written, empty };
    for (size_t i = 0; i < HS_COUNT_OF(pages); i++) {
        assert_false(hs_residency_is_resident(fixture.process.pagemap_fd, va_of(pages[i])));
    }
    close_memory(&fixture);
    /* The file at the path is another one now. */
    unlink(name);
    open_memory(&fixture);
    assert_false(read_at(&fixture, file, got, 8));
    close_memory(&fixture);
    munmap(file, sizeof(page));
    munmap(written, PAGE);
    munmap(empty, PAGE);
    close(fd);
}

/* Pieces on both sides of pages that are not resident or not mapped any more. */
static void test_pieces(void **state)
{
    static struct fixture fixture;
    static uint8_t bytes[5 * HS_TYPE_PIECE_BYTES];
    char *memory =
        mmap(NULL, (size_t)5 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    memset(memory, 'a', PAGE);
    memset(memory + (size_t)2 * PAGE, 'c', (size_t)3 * PAGE); /* the second page is untouched */
    open_memory(&fixture);
    struct hs_type_piece pieces[] = {
        { .va = va_of(memory) + PAGE - 8, .size_bytes = 48, .read_bytes = 1 },
        { .va = va_of(memory) + PAGE + 8, .size_bytes = 48, .read_bytes = 1 },
        { .va = va_of(memory) + (uint64_t)2 * PAGE, .size_bytes = 100 },
        { .va = va_of(memory) + (uint64_t)3 * PAGE, .size_bytes = 8, .read_bytes = 1 },
        { .va = va_of(memory) + (uint64_t)4 * PAGE + 16, .size_bytes = 8 },
    };
    const uint32_t wanted[] = { 8, 0, 100, 0, 8 };
    fixture.memory.read_pieces(fixture.memory.ctx, pieces, HS_COUNT_OF(pieces), bytes);
    assert_int_equal(pieces[3].read_bytes, 8);
    munmap(memory + (size_t)3 * PAGE, PAGE); /* behind the back of what is known of the pages */
    for (unsigned is_shared = 0; is_shared < 2; is_shared++) {
        memset(bytes, 0, sizeof(bytes));
        fixture.process.window.has_shared_pages = is_shared != 0;
        fixture.memory.read_pieces(fixture.memory.ctx, pieces, HS_COUNT_OF(pieces), bytes);
        for (size_t i = 0; i < HS_COUNT_OF(pieces); i++) {
            assert_int_equal(pieces[i].read_bytes, wanted[i]);
        }
        assert_memory_equal(bytes, "aaaaaaaa\0", 9);
        assert_memory_equal(bytes + (size_t)2 * HS_TYPE_PIECE_BYTES, "cccccccc", 8);
        assert_memory_equal(bytes + (size_t)4 * HS_TYPE_PIECE_BYTES, "cccccccc\0", 9);
    }
    assert_false(hs_residency_is_resident(fixture.process.pagemap_fd, va_of(memory) + PAGE));
    close_memory(&fixture);
    munmap(memory, (size_t)5 * PAGE);
}

static void test_symbols(void **state)
{
    static struct fixture fixture;
    struct hs_type_symbol symbol;
    uint64_t word = va_of(&vtable[2]);
    struct hs_block_types types = { 0 };
    struct hs_typed_block block = { va_of(&word), sizeof(word), 0, false };
    (void)state;
    open_memory(&fixture);
    assert_true(fixture.memory.find_symbol(fixture.memory.ctx, va_of(&vtable[1]), &symbol));
    assert_string_equal(symbol.name, "_ZTV3Foo");
    assert_int_equal(symbol.start_va, va_of(vtable));
    assert_int_equal(symbol.size_bytes, sizeof(vtable));
    assert_false(fixture.memory.find_symbol(fixture.memory.ctx, va_of(vtable) - 1, &symbol));
    assert_false(fixture.memory.find_symbol(fixture.memory.ctx, va_of(&vtable[4]), &symbol));
    assert_false(fixture.memory.find_symbol(fixture.memory.ctx, va_of(&word), &symbol));
    assert_int_equal(hs_block_types_read(getpid(), &fixture.space, &block, 1, 0, &types), 0);
    assert_int_equal(block.type_idx, 1);
    assert_string_equal(hs_type_names_text(&types.names, 1), "Foo");
    hs_block_types_deinit(&types);
    close_memory(&fixture);
    /* Files that are too long are not read. */
    open_memory(&fixture);
    fixture.process.file_bytes_left = 1000;
    assert_false(fixture.memory.find_symbol(fixture.memory.ctx, va_of(&vtable[1]), &symbol));
    close_memory(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_untouched),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
