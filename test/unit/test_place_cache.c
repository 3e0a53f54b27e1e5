/*
 * Places in the programs of an interpreter: a place that was met before has its frame again without
 * being described, and never the frame of something that lay there before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "client/tables/region.h"
#include "client/tables/stacks.h"
#include "client/thread/place_cache.h"
#include "client_fixture.h"

#define FILE_NAME_BYTES 32U

/* A function of the interpreter, whose instruction number i is in line first_line + i. */
struct code {
    uint32_t references; /* not read */
    uint32_t first_line;
    const char *file; /* FILE_NAME_BYTES bytes */
    char name[8];
    uint64_t is_hidden;
};

static struct hs_place_cache cache;
static struct hs_readable_pages pages;
static unsigned describe_count;

static uint64_t va_of(const void *object)
{
    return (uint64_t)(uintptr_t)object;
}

/* Implements hs_script_describe_fn. */
static bool describe(const void *roots, struct hs_script_memory *memory,
                     const struct hs_script_place *place, struct hs_script_frame *ret_frame)
{
    const uint32_t *broken_kind = roots;
    const char *name = hs_script_at(memory, place->code_va + offsetof(struct code, name), 8);
    uint64_t file_va = hs_script_word(memory, place->code_va + offsetof(struct code, file));
    describe_count++;
    if (!name || hs_script_word(memory, place->code_va + offsetof(struct code, is_hidden))) {
        return name != NULL;
    }
    ret_frame->function = (struct hs_script_text){ .text = name, .bytes = 8 };
    ret_frame->first_line =
        hs_script_half(memory, place->code_va + offsetof(struct code, first_line));
    ret_frame->line = ret_frame->first_line + (uint32_t)place->at_va;
    hs_script_change_list(memory);
    const char *file = hs_script_at(memory, file_va, FILE_NAME_BYTES);
    ret_frame->file = (struct hs_script_text){ file, file ? FILE_NAME_BYTES : 0, file_va };
    hs_script_change_list(memory);
    if (place->kind == *broken_kind) {
        hs_script_word(memory, 8); /* cannot be read */
    }
    return true;
}

static const uint32_t broken_kind = 7;
static const struct hs_place_reader reader = { .describe = describe,
                                               .roots = &broken_kind,
                                               .language = HS_LANGUAGE_RUBY };

static void begin_sample(uint32_t region_number)
{
    hs_readable_pages_begin(&pages);
    hs_place_cache_begin(&cache, &pages, region_number);
}

/* What a new sample finds: "NAME FILE:LINE". */
static const char *find(const struct code *code, uint64_t at, uint32_t kind)
{
    static char text[96];
    const struct hs_script_place place = { .code_va = va_of(code), .at_va = at, .kind = kind };
    begin_sample(0);
    uint32_t id = hs_place_cache_find(&cache, &reader, &place);
    if (id >= HS_PLACE_NOTHING) {
        return id == HS_PLACE_NOTHING ? "nothing" : id == HS_PLACE_WRONG ? "wrong" : "no room";
    }
    const struct hs_code_name_v2 *name =
        hs_region_at(HS_SECTION_CODE_NAMES, hs_region_frame(id)->pc);
    snprintf(text, sizeof(text), "%s %s:%u",
             (const char *)hs_region_at(HS_SECTION_BYTES, name->function_off),
             (const char *)hs_region_at(HS_SECTION_BYTES, name->file_off), name->line);
    return text;
}

static int set_up(void **state)
{
    (void)state;
    memset(&cache, 0, sizeof(cache));
    pages = (struct hs_readable_pages){ .era = 0 };
    describe_count = 0;
    return fixture_region() == 0 && hs_stacks_init() ? 0 : -1;
}

static void test_described_once(void **state)
{
    (void)state;
    char file[FILE_NAME_BYTES] = "shop.rb";
    struct code code = { .first_line = 10, .file = file, .name = "buy" };
    for (unsigned i = 0; i < 1000; i++) { /* the kernel is asked again in between */
        code.references++;
        assert_string_equal(find(&code, 1, 0), "buy shop.rb:11");
    }
    assert_int_equal(describe_count, 1);
    assert_string_equal(find(&code, 2, 0), "buy shop.rb:12");
    assert_int_equal(describe_count, 2);
}

/* Another function, line or file at the same address has its own frame. */
static void test_freed_and_used_again(void **state)
{
    (void)state;
    char file[FILE_NAME_BYTES] = "shop.rb", other[FILE_NAME_BYTES] = "cart.rb";
    struct code code = { .first_line = 10, .file = file, .name = "buy" };
    struct code neighbour = { .first_line = 20, .file = file, .name = "pay" };
    assert_string_equal(find(&code, 1, 0), "buy shop.rb:11");
    assert_string_equal(find(&neighbour, 1, 0), "pay shop.rb:21");
    code.name[2] = 'z';
    assert_string_equal(find(&code, 1, 0), "buz shop.rb:11");
    code.first_line++;
    assert_string_equal(find(&code, 1, 0), "buz shop.rb:12");
    code.file = other;
    assert_string_equal(find(&code, 1, 0), "buz cart.rb:12");
    code.file = file;
    memcpy(file, "bank.rb", 8); /* the text itself, which both have */
    assert_string_equal(find(&code, 1, 0), "buz bank.rb:12");
    assert_string_equal(find(&neighbour, 1, 0), "pay bank.rb:21");
    code.is_hidden = 1;
    assert_string_equal(find(&code, 1, 0), "nothing");
    assert_string_equal(find(&code, 1, 0), "nothing");
    code.is_hidden = 0;
    assert_string_equal(find(&code, 1, 0), "buz bank.rb:12");
}

/* One sample compares the words of a place once; kinds and languages are kept apart. */
static void test_kinds(void **state)
{
    (void)state;
    char file[FILE_NAME_BYTES] = "shop.rb";
    struct code code = { .first_line = 10, .file = file, .name = "buy" };
    find(&code, 1, 0);
    find(&code, 1, 1);
    assert_int_equal(describe_count, 2);
    const struct hs_place_reader other = { describe, &broken_kind, HS_LANGUAGE_PHP };
    const struct hs_script_place place = { .code_va = va_of(&code), .at_va = 1 };
    assert_int_not_equal(hs_place_cache_find(&cache, &other, &place),
                         hs_place_cache_find(&cache, &reader, &place));
    assert_int_equal(describe_count, 3);
}

static void test_memory_that_has_gone(void **state)
{
    (void)state;
    char file[FILE_NAME_BYTES] = "shop.rb";
    struct code *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(code, MAP_FAILED);
    *code = (struct code){ .first_line = 10, .file = file, .name = "buy" };
    assert_string_equal(find(code, 1, 0), "buy shop.rb:11");
    assert_int_equal(munmap(code, 4096), 0);
    hs_readable_note_closed();
    assert_string_equal(find(code, 1, 0), "wrong");
}

/* A description that depends on memory that cannot be read is made each time. */
static void test_not_kept(void **state)
{
    (void)state;
    char file[FILE_NAME_BYTES] = "shop.rb";
    struct code code = { .first_line = 10, .file = file, .name = "buy" };
    assert_string_equal(find(&code, 1, broken_kind), "buy shop.rb:11");
    assert_string_equal(find(&code, 1, broken_kind), "buy shop.rb:11");
    assert_int_equal(describe_count, 2);
}

/* More places than there is room for. */
static void test_many(void **state)
{
    (void)state;
    static struct code codes[10000];
    char file[FILE_NAME_BYTES] = "shop.rb", expected[96];
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < HS_COUNT_OF(codes); i++) {
            codes[i].first_line = i + round;
            codes[i].file = file;
            snprintf(codes[i].name, sizeof(codes[i].name), "f%u", i % 100);
            snprintf(expected, sizeof(expected), "f%u shop.rb:%u", i % 100, i + round + 1);
            assert_string_equal(find(&codes[i], 1, 0), expected);
            assert_string_equal(find(&codes[i], 1, 0), expected);
        }
    }
    /* The name of the file loses its entry now and then. */
    assert_in_range(describe_count, 2 * HS_COUNT_OF(codes), 2 * HS_COUNT_OF(codes) + 100);
}

/* Ids are those of one region. */
static void test_new_region(void **state)
{
    (void)state;
    char file[FILE_NAME_BYTES] = "shop.rb";
    struct code code = { .first_line = 10, .file = file, .name = "buy" };
    const struct hs_script_place place = { .code_va = va_of(&code), .at_va = 1 };
    find(&code, 1, 0);
    begin_sample(1);
    hs_place_cache_find(&cache, &reader, &place);
    assert_int_equal(describe_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_described_once, set_up),
        cmocka_unit_test_setup(test_freed_and_used_again, set_up),
        cmocka_unit_test_setup(test_kinds, set_up),
        cmocka_unit_test_setup(test_memory_that_has_gone, set_up),
        cmocka_unit_test_setup(test_not_kept, set_up),
        cmocka_unit_test_setup(test_many, set_up),
        cmocka_unit_test_setup(test_new_region, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
