/*
 * collect/types: names of blocks, from memory that the tests make: vtables with RTTI and without,
 * what only looks like one, words before objects, objects of CPython.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "collect/types/block_types.h"
#include "rt/base.h"
#include "typed_memory.h"

/* A program: its memory, and where the next constant goes. */
struct world {
    struct typed_memory *memory;
    uint64_t next_va;
    uint64_t metas[3]; /* vtables of the type_infos of classes: none, one, several bases */
    struct hs_block_types types;
};

#define FUNCTION_VA (TYPED_CODE_VA + 0x100)
#define INFO_CLASS  0
#define INFO_SINGLE 1
#define INFO_MANY   2

static uint64_t put_text(struct world *world, const char *text)
{
    size_t left;
    uint64_t va = world->next_va;
    memcpy(typed_at(world->memory, va, &left), text, strlen(text) + 1);
    world->next_va += (strlen(text) + 8) & ~(uint64_t)7;
    return va;
}

static uint64_t put_words(struct world *world, const uint64_t *words, size_t count)
{
    uint64_t va = world->next_va;
    typed_put(world->memory, va, words, count);
    world->next_va += 8 * count;
    return va;
}

/* A vtable with two functions. Returns the address to which objects point. */
static uint64_t put_vtable(struct world *world, int64_t top_off, uint64_t info_va)
{
    const uint64_t words[] = { (uint64_t)top_off, info_va, FUNCTION_VA, FUNCTION_VA + 16 };
    return put_words(world, words, 4) + 16;
}

static uint64_t put_info(struct world *world, uint64_t meta_va, const char *name, uint64_t base_va)
{
    const uint64_t words[] = { meta_va, put_text(world, name), base_va };
    return put_words(world, words, 3);
}

/* The three classes of the C++ runtime, whose own type_infos are of the second one. */
static void put_runtime(struct world *world)
{
    static const char *const names[] = {
        "N10__cxxabiv117__class_type_infoE",
        "N10__cxxabiv120__si_class_type_infoE",
        "N10__cxxabiv121__vmi_class_type_infoE",
    };
    uint64_t infos[3];
    for (unsigned i = 0; i < 3; i++) {
        infos[i] = put_info(world, 0, names[i], 0);
        world->metas[i] = put_vtable(world, 0, infos[i]);
    }
    for (unsigned i = 0; i < 3; i++) {
        typed_put(world->memory, infos[i], &world->metas[INFO_SINGLE], 1);
    }
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    world->memory = calloc(1, sizeof(*world->memory));
    assert_non_null(world->memory);
    world->next_va = TYPED_CONST_VA + 0x100;
    put_runtime(world);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    hs_block_types_deinit(&world->types);
    free(world->memory);
    free(world);
    return 0;
}

static const char *name_of(struct world *world, uint32_t idx)
{
    assert_true(hs_type_names_is_valid(&world->types.names));
    return idx > 0 ? hs_type_names_text(&world->types.names, idx) : "";
}

/* The type of a block of `size_bytes` in the heap that begins with these words. */
static const char *type_of_words(struct world *world, const uint64_t *words, size_t count,
                                 uint64_t size_bytes)
{
    const struct hs_type_memory memory = typed_view(world->memory);
    struct hs_typed_block block = { TYPED_HEAP_VA + 0x1000, size_bytes, 77, false };
    memset(world->memory->heap + 0x1000, 0, 0x400);
    typed_put(world->memory, block.va, words, count);
    assert_int_equal(hs_block_types_find(&memory, &block, 1, 0, &world->types), 0);
    assert_int_equal(world->types.counts.looked_count, 1);
    assert_int_equal(world->types.counts.named_count, block.type_idx != 0);
    assert_int_equal(world->types.counts.unknown_count, block.type_idx == 0);
    return name_of(world, block.type_idx);
}

static const char *type_of(struct world *world, uint64_t word)
{
    return type_of_words(world, &word, 1, 40);
}

/* --- C++ with RTTI ---------------------------------------------------------------------------- */

static void test_inheritance(void **state)
{
    struct world *world = *state;
    uint64_t base = put_info(world, world->metas[INFO_CLASS], "4Base", 0);
    uint64_t one = put_info(world, world->metas[INFO_SINGLE], "N1a3OneE", base);
    const uint64_t bases[] = { world->metas[INFO_MANY],
                               put_text(world, "*N12_GLOBAL__N_14ManyE"),
                               UINT64_C(2) << 32,
                               one,
                               2,
                               base,
                               16 << 8 | 2 };
    uint64_t many = put_words(world, bases, HS_COUNT_OF(bases));
    assert_string_equal(type_of(world, put_vtable(world, 0, base)), "Base");
    assert_string_equal(type_of(world, put_vtable(world, 0, one)), "a::One");
    uint64_t primary = put_vtable(world, 0, many);
    uint64_t secondary = put_vtable(world, -16, many);
    assert_string_equal(type_of(world, primary), "(anonymous namespace)::Many");
    assert_string_equal(type_of(world, secondary), "");
    for (int64_t off = -24; off <= 24; off++) {
        if (off != 0) {
            assert_string_equal(type_of(world, primary + (uint64_t)off), "");
        }
    }
    assert_string_equal(type_of(world, many), "");
    assert_string_equal(type_of(world, FUNCTION_VA), "");
    assert_string_equal(type_of_words(world, &primary, 1, 7), ""); /* too small for a pointer */
    assert_string_equal(type_of_words(world, &primary, 1, 8), "(anonymous namespace)::Many");
    assert_string_equal(type_of_words(world, &primary, 1, 8200), "(anonymous namespace)::Many");
    assert_string_equal(type_of_words(world, &primary, 1, 8192), ""); /* objects will fill it */
}

/* The vtable of a base while an object with virtual bases is constructed. */
static void test_construction(void **state)
{
    struct world *world = *state;
    uint64_t top = put_info(world, world->metas[INFO_CLASS], "3Top", 0);
    const uint64_t words[] = { world->metas[INFO_MANY], put_text(world, "4Left"), UINT64_C(1) << 32,
                               top, UINT64_C(0xffffffffffffe803) };
    uint64_t left = put_words(world, words, HS_COUNT_OF(words));
    uint64_t below = put_info(world, world->metas[INFO_SINGLE], "5Below", left);
    uint64_t complete = put_vtable(world, 0, left), partial = put_vtable(world, 0, left);
    uint64_t lower = put_vtable(world, 0, below);
    world->memory->symbols[0] = (struct hs_type_symbol){ "_ZTV4Left", complete - 16, 32 };
    world->memory->symbols[1] = (struct hs_type_symbol){ "_ZTC7Diamond0_4Left", partial - 16, 32 };
    world->memory->symbols[2] = (struct hs_type_symbol){ "_ZTC4Last0_5Below", lower - 16, 32 };
    world->memory->symbol_count = 3;
    assert_string_equal(type_of(world, complete), "Left");
    assert_string_equal(type_of(world, partial), "");
    assert_string_equal(type_of(world, lower), "");
    world->memory->symbol_count = 0; /* stripped: as far as memory tells */
    assert_string_equal(type_of(world, complete), "Left");
    assert_string_equal(type_of(world, lower), "Below");
}

static void test_hostile_rtti(void **state)
{
    struct world *world = *state;
    uint64_t info, vtable, name = put_text(world, "3Foo");
    /* A type_info that is its own vtable, and one whose vtable leads back to it. */
    info = world->next_va + 16;
    const uint64_t itself[] = { 0, info, info, name, info };
    put_words(world, itself, 5);
    assert_string_equal(type_of(world, info), "");
    /* The right name, with another class behind it. */
    info = put_info(world, 0, "N10__cxxabiv117__class_type_infoE", 0);
    vtable = put_vtable(world, 0, info);
    typed_put(world->memory, info, &vtable, 1);
    assert_string_equal(type_of(world, put_vtable(world, 0, put_info(world, vtable, "3Foo", 0))),
                        "");
    /* Another class of the second name behind it, which is not its own. */
    uint64_t other = put_info(world, 0, "N10__cxxabiv120__si_class_type_infoE", 0);
    typed_put(world->memory, other, &world->metas[INFO_SINGLE], 1);
    vtable = put_vtable(world, 0, other);
    info = put_info(world, vtable, "N10__cxxabiv117__class_type_infoE", 0);
    vtable = put_vtable(world, 0, info);
    assert_string_equal(type_of(world, put_vtable(world, 0, put_info(world, vtable, "3Foo", 0))),
                        "");
    /* A secondary vtable of one of the three classes. */
    typed_read(world->memory, world->metas[INFO_CLASS] - 8, &info, sizeof(info));
    vtable = put_vtable(world, -8, info);
    assert_string_equal(type_of(world, put_vtable(world, 0, put_info(world, vtable, "3Foo", 0))),
                        "");
    /* Bases in a circle. */
    info = put_info(world, world->metas[INFO_SINGLE], "3Foo", world->next_va + 8);
    typed_put(world->memory, info + 16, &info, 1);
    assert_string_equal(type_of(world, put_vtable(world, 0, info)), "Foo");
    /* More bases than there are. */
    const uint64_t many[] = { world->metas[INFO_MANY], name, UINT64_MAX, info, 0 };
    info = put_words(world, many, 5);
    assert_string_equal(type_of(world, put_vtable(world, 0, info)), "Foo");
    /* At the ends of the memory. */
    assert_string_equal(type_of(world, TYPED_CONST_VA), "");
    assert_string_equal(type_of(world, TYPED_CONST_VA + TYPED_BYTES - 8), "");
    assert_string_equal(type_of(world, UINT64_MAX - 7), "");
    assert_string_equal(type_of(world, 8), "");
}

/* Copies of a vtable in memory that the process writes are none. */
static void test_writable(void **state)
{
    struct world *world = *state;
    uint64_t info = put_info(world, world->metas[INFO_CLASS], "3Foo", 0);
    const uint64_t words[] = { 0, info, FUNCTION_VA };
    typed_put(world->memory, TYPED_HEAP_VA + 64, words, 3);
    typed_put(world->memory, TYPED_DATA_VA + 64, words, 3);
    assert_string_equal(type_of(world, TYPED_HEAP_VA + 80), "");
    assert_string_equal(type_of(world, TYPED_DATA_VA + 80), "");
    const uint64_t copy[] = { world->metas[INFO_CLASS], put_text(world, "3Foo"), 0 };
    typed_put(world->memory, TYPED_DATA_VA + 128, copy, 3);
    assert_string_equal(type_of(world, put_vtable(world, 0, TYPED_DATA_VA + 128)), "");
}

static void test_bad_names(void **state)
{
    static const char *const names[] = { "", "3F", "*", "foo", "3Fo\n", "3Fo\x80", "99Foo" };
    struct world *world = *state;
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        uint64_t info = put_info(world, world->metas[INFO_CLASS], names[i], 0);
        assert_string_equal(type_of(world, put_vtable(world, 0, info)), "");
    }
    char name[2000] = "1500";
    memset(name + 4, 'x', 1500); /* longer than is read */
    uint64_t info = put_info(world, world->metas[INFO_CLASS], name, 0);
    assert_string_equal(type_of(world, put_vtable(world, 0, info)), "");
    memset(name, 0, sizeof(name));
    memcpy(name, "700", 3);
    memset(name + 3, 'x', 700); /* longer than a name is kept */
    info = put_info(world, world->metas[INFO_CLASS], name, 0);
    const char *kept = type_of(world, put_vtable(world, 0, info));
    assert_int_equal(strlen(kept), HS_TYPE_NAME_BYTES_MAX);
    assert_string_equal(kept + strlen(kept) - 4, "x...");
    memset(world->memory->constants + TYPED_BYTES - 16, 'x', 16); /* no end */
    const uint64_t words[] = { world->metas[INFO_CLASS], TYPED_CONST_VA + TYPED_BYTES - 16, 0 };
    assert_string_equal(type_of(world, put_vtable(world, 0, put_words(world, words, 3))), "");
}

/* --- C++ without RTTI ------------------------------------------------------------------------- */

static void test_symbols(void **state)
{
    struct world *world = *state;
    /* Two offsets of virtual bases, the primary vtable, and a secondary one. */
    const uint64_t words[] = { 32, 48, 0, 0, FUNCTION_VA, FUNCTION_VA, 0, 0, FUNCTION_VA };
    uint64_t start = put_words(world, words, HS_COUNT_OF(words)), at = start + 32;
    assert_string_equal(type_of(world, at), "");
    world->memory->symbols[0] = (struct hs_type_symbol){ "_ZTVN1a3FooE", start, sizeof(words) };
    world->memory->symbol_count = 1;
    for (uint64_t va = start - 8; va <= start + sizeof(words) + 16; va++) {
        assert_string_equal(type_of(world, va), va == at ? "a::Foo" : "");
    }
    world->memory->symbols[0].name = "_ZTCN1a3BarE0_N1a3FooE";
    assert_string_equal(type_of(world, at), "");
    world->memory->symbols[0] = (struct hs_type_symbol){ "_ZTVN1a3FooE", at - 8, 64 };
    assert_string_equal(type_of(world, at), "");
    world->memory->symbols[0] = (struct hs_type_symbol){ "_ZTVN1a3FooE", start, 36 };
    assert_string_equal(type_of(world, at), "");
    world->memory->symbols[0] = (struct hs_type_symbol){ "_ZTVN1a3Fo", start, sizeof(words) };
    assert_string_equal(type_of(world, at), "");
}

/* --- words before an object ------------------------------------------------------------------- */

static void test_arrays(void **state)
{
    struct world *world = *state;
    uint64_t foo = put_vtable(world, 0, put_info(world, world->metas[INFO_CLASS], "3Foo", 0));
    uint64_t bar = put_vtable(world, 0, put_info(world, world->metas[INFO_CLASS], "3Bar", 0));
    const struct {
        uint64_t words[10];
        uint64_t size_bytes;
        const char *name;
    } cases[] = {
        { { 3, foo, 1, 2, foo, 1, 2, foo, 1, 2 }, 80, "Foo[]" },
        { { 3, foo, 1, 2, bar, 1, 2, foo, 1, 2 }, 80, "" },   /* another class follows */
        { { 3, foo, 1, 2, 0, 1, 2, foo, 1, 2 }, 80, "" },     /* a structure */
        { { 2, foo, 1, 2, foo, 1, 2, foo, 1, 2 }, 80, "" },   /* fewer than there is room for */
        { { 4, foo, 1, 2, foo, 1, 2, foo, 1, 2 }, 80, "" },   /* more */
        { { 1, foo, 1, 2, foo }, 32, "" },                    /* one proves nothing */
        { { 3, foo, 1, 2, foo, 1, 2, foo, 1, 2 }, 81, "" },   /* a rest */
        { { 0, foo, 1, 2 }, 32, "" },                         /* none */
        { { UINT64_MAX, foo, 1, 2 }, 32, "" },                /* too many */
        { { 99, 2, foo, 1, foo, 1 }, 48, "Foo[]" },           /* elements aligned to 16 */
        { { 2, 99, foo, 1, foo, 1 }, 48, "" },                /* the count is not before them */
        { { 32, foo, 1, 2 }, 32, "Foo" },                     /* an allocator's header: the size */
        { { 24, foo, 1, 2 }, 32, "Foo" },                     /* without the header */
        { { 32, 0x1234, foo, 1 }, 32, "Foo" },                /* with another word */
        { { 0x1234, 16, foo, 1 }, 32, "Foo" },                /* before it */
        { { 0x1234, 0x5678, foo, 1 }, 32, "" },               /* a structure */
        { { TYPED_HEAP_VA, TYPED_HEAP_VA, foo, 1 }, 32, "" }, /* a node of a list */
        { { 24, 0x1234, 1, foo }, 32, "" },                   /* too far behind */
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        assert_string_equal(type_of_words(world, cases[i].words, 10, cases[i].size_bytes),
                            cases[i].name);
    }
    /* Not by a symbol alone. */
    const uint64_t bare[] = { 0, 0, FUNCTION_VA };
    uint64_t at = put_words(world, bare, 3) + 16;
    world->memory->symbols[0] = (struct hs_type_symbol){ "_ZTV3Foo", at - 16, 24 };
    world->memory->symbol_count = 1;
    const uint64_t words[] = { 2, at, 1, at, 1 };
    assert_string_equal(type_of(world, at), "Foo");
    assert_string_equal(type_of_words(world, words, 5, 40), "");
}

/* --- CPython ---------------------------------------------------------------------------------- */

#define READY   (UINT64_C(1) << 12)
#define TRACKED (UINT64_C(1) << 14)
#define DICT    (UINT64_C(1) << 4)
#define TEXT    (UINT64_C(1) << 28)
#define IS_TYPE (UINT64_C(1) << 31)

static uint64_t put_python(struct world *world, uint64_t meta_va, const char *name,
                           uint64_t object_bytes, uint64_t flags)
{
    uint64_t words[22] = { 1, meta_va, 0, put_text(world, name), object_bytes, 0 };
    words[21] = flags | READY;
    return put_words(world, words, 22);
}

static uint64_t put_root(struct world *world)
{
    uint64_t root = put_python(world, 0, "type", 880, TRACKED | IS_TYPE);
    typed_put(world->memory, root + 8, &root, 1);
    world->memory->python_va = root;
    return root;
}

static void test_python(void **state)
{
    struct world *world = *state;
    uint64_t root = put_root(world), heap = TYPED_HEAP_VA + 0x8000;
    uint64_t number = put_python(world, root, "float", 24, 0);
    uint64_t dict = put_python(world, root, "dict", 48, TRACKED);
    uint64_t text = put_python(world, root, "str", 80, TEXT);
    uint64_t meta = put_python(world, root, "Meta", 880, TRACKED | IS_TYPE);
    uint64_t own = put_python(world, meta, "Own", 16, TRACKED | DICT);
    uint64_t none = put_python(world, number, "none", 16, 0); /* no type of types */
    const struct {
        uint64_t words[6];
        uint64_t size_bytes;
        const char *name;
    } cases[] = {
        { { 1, number, 0 }, 24, "float" },
        { { UINT32_MAX, number, 0 }, 24, "float" },
        { { 1, number, 0 }, 23, "" },    /* too small */
        { { 0, number, 0 }, 24, "" },    /* in a list of free objects */
        { { heap, number, 0 }, 24, "" }, /* an array of pointers */
        { { 1, none, 0 }, 24, "" },
        { { 1, dict, 0, 0, 0, 0 }, 64, "" }, /* without the list of the collector */
        { { heap, heap, 1, dict, 0, 0 }, 64, "dict" },
        { { 0, 0, 1, dict, 0, 0 }, 64, "dict" },
        { { 3, 0, 1, dict, 0, 0 }, 64, "dict" },    /* flags of an empty link */
        { { 0x999990, 0, 1, dict, 0, 0 }, 64, "" }, /* a link to nothing */
        { { heap, heap, 1, dict, 0, 0 }, 63, "" },
        { { heap, heap, 1, number, 0, 0 }, 64, "" },
        { { 2, text, 3 }, 52, "str" },
        { { heap, 0, heap, heap, 1, own }, 48, "Own" },
        { { heap, heap, 1, own, 0, 0 }, 48, "" },
        { { heap, heap, 1, meta, 0, 0 }, 900, "Meta" },
        { { heap, heap, 1, root, 0, 0 }, 900, "type" },
    };
    for (size_t i = 0; i < HS_COUNT_OF(cases); i++) {
        assert_string_equal(type_of_words(world, cases[i].words, 6, cases[i].size_bytes),
                            cases[i].name);
    }
    assert_int_equal(hs_type_names_language(&world->types.names, 1), HS_TYPE_PYTHON);
    world->memory->python_va = 0; /* a process without CPython */
    assert_string_equal(type_of_words(world, cases[0].words, 6, 24), "");
}

/* Layouts that are not known: PyType_Type is not where its own type should be. */
static void test_python_of_other_builds(void **state)
{
    struct world *world = *state;
    uint64_t root = put_root(world);
    uint64_t number = put_python(world, root, "float", 24, 0);
    const uint64_t words[] = { 1, number, 0 }, moved[] = { 1, 0 };
    assert_string_equal(type_of_words(world, words, 3, 24), "float");
    typed_put(world->memory, root, moved, 2);
    assert_string_equal(type_of_words(world, words, 3, 24), "");
    /* Types of types in a circle that does not lead to PyType_Type. */
    root = put_root(world);
    uint64_t meta = put_python(world, 0, "Meta", 880, TRACKED | IS_TYPE);
    typed_put(world->memory, meta + 8, &meta, 1);
    const uint64_t odd[] = { 1, put_python(world, meta, "Odd", 24, 0), 0 };
    assert_string_equal(type_of_words(world, odd, 3, 24), "");
}

/* --- many blocks ------------------------------------------------------------------------------ */

#define BLOCKS 400U

static void test_many(void **state)
{
    struct world *world = *state;
    const struct hs_type_memory memory = typed_view(world->memory);
    struct hs_typed_block blocks[BLOCKS];
    uint64_t foo = put_vtable(world, 0, put_info(world, world->metas[INFO_CLASS], "3Foo", 0));
    uint64_t bar = put_vtable(world, 0, put_info(world, world->metas[INFO_CLASS], "3Bar", 0));
    for (unsigned i = 0; i < BLOCKS; i++) {
        unsigned k = BLOCKS - 1 - i; /* the last one first; some are at the end of a page */
        uint64_t va = TYPED_HEAP_VA + k * 160;
        typed_put(world->memory, va, k % 3 == 0 ? &foo : &bar, k % 3 < 2);
        blocks[i] = (struct hs_typed_block){ va, 160, 0, false };
    }
    world->memory->gone_va = TYPED_HEAP_VA + TYPED_PAGE;
    world->memory->read_count = 0;
    assert_int_equal(hs_block_types_find(&memory, blocks, BLOCKS, 0, &world->types), 0);
    assert_true(world->memory->read_count < 100); /* of each vtable once */
    unsigned named_count = 0, gone_count = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        uint64_t off = blocks[i].va - TYPED_HEAP_VA;
        bool is_gone = off / TYPED_PAGE == 1;
        const char *name = is_gone || off / 160 % 3 == 2 ? "" : off / 160 % 3 == 0 ? "Foo" : "Bar";
        assert_string_equal(name_of(world, blocks[i].type_idx), name);
        named_count += *name != '\0';
        gone_count += is_gone;
    }
    const struct hs_block_type_counts *counts = &world->types.counts;
    assert_int_equal(counts->looked_count, BLOCKS);
    assert_int_equal(counts->named_count, named_count);
    assert_int_equal(counts->unreadable_count, gone_count);
    assert_int_equal(counts->unknown_count, BLOCKS - named_count - gone_count);
    /* No time. */
    assert_int_equal(hs_block_types_find(&memory, blocks, BLOCKS, 1, &world->types), 0);
    assert_int_equal(counts->late_count, BLOCKS);
    assert_int_equal(blocks[0].type_idx, 0);
    assert_int_equal(hs_block_types_find(&memory, NULL, 0, 0, &world->types), 0);
}

/* Reading takes two milliseconds. */
static bool read_slowly(void *ctx, uint64_t va, void *ret_bytes, size_t size_bytes)
{
    const struct timespec pause = { 0, 2000000 };
    nanosleep(&pause, NULL);
    return typed_read(ctx, va, ret_bytes, size_bytes);
}

/* The time ends while the blocks of one call of read_pieces are looked at. The next search begins
 * with those that were not reached. */
static void test_slow(void **state)
{
    struct world *world = *state;
    struct hs_type_memory memory = typed_view(world->memory);
    struct hs_typed_block blocks[BLOCKS];
    memory.read = read_slowly;
    for (unsigned i = 0; i < BLOCKS; i++) {
        uint64_t word = world->metas[0] + i * 8; /* all different */
        blocks[i] = (struct hs_typed_block){ TYPED_HEAP_VA + i * 160, 160, 0, false };
        typed_put(world->memory, blocks[i].va, &word, 1);
    }
    assert_int_equal(hs_block_types_find(&memory, blocks, BLOCKS, 200000000, &world->types), 0);
    unsigned late_count = (unsigned)world->types.counts.late_count, first = BLOCKS - late_count;
    assert_true(late_count > 0 && late_count < BLOCKS);
    assert_int_equal(world->types.next_va, blocks[first].va);
    assert_true(blocks[first - 1].is_read && !blocks[first].is_read);
    assert_int_equal(hs_block_types_find(&memory, blocks, BLOCKS, 200000000, &world->types), 0);
    assert_true(blocks[first].is_read);
    world->types.next_va = UINT64_MAX;
    memory.read = typed_read;
    assert_int_equal(hs_block_types_find(&memory, blocks, BLOCKS, 0, &world->types), 0);
    assert_int_equal(world->types.next_va, 0);
    for (unsigned i = 0; i < BLOCKS; i++) {
        assert_true(blocks[i].is_read);
    }
}

/* A head that ends on the next page, which is gone; blocks at impossible addresses. */
static void test_edges(void **state)
{
    struct world *world = *state;
    const struct hs_type_memory memory = typed_view(world->memory);
    uint64_t foo = put_vtable(world, 0, put_info(world, world->metas[INFO_CLASS], "3Foo", 0));
    uint64_t va = TYPED_HEAP_VA + TYPED_PAGE - 8;
    struct hs_typed_block blocks[] = {
        { UINT64_MAX - 3, 100, 0, false },
        { va, 100, 0, false },
        { va, 100, 0, false },
        { 0, 100, 0, false },
        { TYPED_HEAP_VA + 1, 4, 0, false },
        { UINT64_MAX, UINT64_MAX, 0, false },
    };
    typed_put(world->memory, va, &foo, 1);
    world->memory->gone_va = va + 8;
    assert_int_equal(hs_block_types_find(&memory, blocks, HS_COUNT_OF(blocks), 0, &world->types),
                     0);
    assert_string_equal(name_of(world, blocks[1].type_idx), "Foo");
    assert_string_equal(name_of(world, blocks[2].type_idx), "Foo");
    assert_int_equal(world->types.counts.named_count, 2);
    assert_int_equal(world->types.counts.unreadable_count, 3);
    assert_int_equal(world->types.counts.unknown_count, 1);
}

static void test_names(void **state)
{
    struct hs_type_names names = { 0 };
    uint32_t idx, again;
    char name[16];
    (void)state;
    for (uint32_t i = 1; i <= HS_TYPE_NAMES_MAX + 1; i++) {
        snprintf(name, sizeof(name), "T%u", i);
        assert_int_equal(hs_type_names_put(&names, HS_TYPE_CXX, name, &idx), 0);
        assert_int_equal(idx, i <= HS_TYPE_NAMES_MAX ? i : 0);
    }
    assert_int_equal(hs_type_names_put(&names, HS_TYPE_CXX, "T7", &again), 0);
    assert_int_equal(again, 7);
    assert_int_equal(hs_type_names_put(&names, HS_TYPE_PYTHON, "T7", &again), 0);
    assert_int_equal(again, 0); /* another type, for which there is no room */
    assert_string_equal(hs_type_names_text(&names, 7), "T7");
    assert_true(hs_type_names_is_valid(&names));
    hs_type_names_deinit(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_inheritance, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_construction, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hostile_rtti, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_writable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_symbols, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_arrays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_python, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_python_of_other_builds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_slow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_edges, set_up, tear_down),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
