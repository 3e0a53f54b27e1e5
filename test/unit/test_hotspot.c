/* hotspot/hotspot_layout.h, code_blob.h, debug_scopes.h and java_method.h: the structures of a JVM,
 * from the exported tables to names and lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hotspot_image.h"

static struct hotspot_image image;
static struct hs_hotspot_layout layout;
static struct hs_code_heaps heaps;
static const struct hs_hotspot_memory memory = { .read = image_read, .ctx = &image };

static enum hs_java_refusal read_layout(void)
{
    return hs_hotspot_layout_read(&memory, image_symbol, &image, &layout);
}

static void make(void)
{
    image_make(&image, 17, NULL);
    assert_int_equal(read_layout(), HS_JAVA_READ);
    assert_true(hs_code_heaps_read(&layout, &memory, &heaps));
}

static void test_layout(void **state)
{
    (void)state;
    make();
    assert_int_equal(layout.vm_major, 17);
    assert_int_equal(layout.at[HS_HOTSPOT_BLOB_FRAME_SIZE], 16);
    assert_int_equal(layout.size_bytes[HS_HOTSPOT_SIZE_POOL], 16);
    assert_int_equal(heaps.count, 1);
    assert_int_equal(heaps.heaps[0].low_va, image.low_va);
}

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < IMAGE_COUNT(image_fields); i++) {
        image_make(&image, 99, image_fields[i].name);
        assert_int_equal(read_layout(), HS_JAVA_NO_FIELD);
        assert_int_equal(layout.vm_major, i == 3 ? 0 : 99);
    }
    image_make(&image, 17, NULL);
    image.symbol_count = 0;
    assert_int_equal(read_layout(), HS_JAVA_NO_TABLES);
}

static void test_blobs(void **state)
{
    struct hs_code_blob blob;
    (void)state;
    make();
    assert_true(hs_code_blob_find(&layout, &memory, &heaps, image.code_va + 16, &blob));
    assert_int_equal(blob.kind, HS_BLOB_COMPILED);
    assert_int_equal(blob.frame_bytes, 48);
    assert_int_equal(blob.compile_id, 77);
    assert_int_equal(blob.start_va, image.blob_va);
    assert_true(hs_code_blob_find(&layout, &memory, &heaps, image.stub_code_va + 3, &blob));
    assert_int_equal(blob.kind, HS_BLOB_STUB);
    assert_int_equal(blob.frame_bytes, 0);
    assert_string_equal(blob.name, "StubRoutines (1)");
    /* In the header, behind the code, in a free segment, below and above the heap. */
    assert_false(hs_code_blob_find(&layout, &memory, &heaps, image.blob_va + 4, &blob));
    assert_false(hs_code_blob_find(&layout, &memory, &heaps, image.blob_va + 300, &blob));
    assert_false(
        hs_code_blob_find(&layout, &memory, &heaps, image.low_va + UINT64_C(8) * 64, &blob));
    assert_false(hs_code_blob_find(&layout, &memory, &heaps, image.low_va - 1, &blob));
    assert_false(hs_code_blob_find(&layout, &memory, &heaps, image.low_va + 640, &blob));
    /* A block that is not used has no code. */
    image_put(&image, image.low_va + 8, 0, 1);
    assert_false(hs_code_blob_find(&layout, &memory, &heaps, image.code_va + 16, &blob));
}

static void test_scopes(void **state)
{
    struct hs_code_blob blob;
    struct hs_debug_scopes scopes;
    uint64_t method_va;
    int32_t bci;
    (void)state;
    make();
    assert_true(hs_code_blob_find(&layout, &memory, &heaps, image.code_va + 16, &blob));
    assert_true(hs_debug_scopes_begin(&layout, &memory, &blob, image.code_va + 16, &scopes));
    assert_true(hs_debug_scopes_next(&scopes, &method_va, &bci));
    assert_int_equal(method_va, image.method_va[1]);
    assert_int_equal(bci, 20);
    assert_true(hs_debug_scopes_next(&scopes, &method_va, &bci));
    assert_int_equal(method_va, image.method_va[0]);
    assert_int_equal(bci, 5);
    assert_false(hs_debug_scopes_next(&scopes, &method_va, &bci));
    assert_false(hs_debug_scopes_begin(&layout, &memory, &blob, image.code_va + 15, &scopes));
    /* A chain that does not end with the compiled method is none. */
    blob.method_va = image.method_va[1];
    assert_false(hs_debug_scopes_begin(&layout, &memory, &blob, image.code_va + 16, &scopes));
}

static void test_methods(void **state)
{
    static const uint32_t lines[][2] = { { 0, 10 }, { 4, 10 }, { 5, 12 },    { 19, 12 },
                                         { 20, 9 }, { 29, 9 }, { 30, 1009 }, { 39, 1009 } };
    struct hs_java_method method;
    char text[32];
    (void)state;
    make();
    assert_true(hs_java_method_read(&layout, &memory, image.method_va[0], &method));
    assert_int_equal(hs_java_method_function(&layout, &memory, &method, text, sizeof(text)), 13);
    assert_string_equal(text, "a.b.Outer.run");
    assert_int_equal(hs_java_method_function(&layout, &memory, &method, text, 12), 11);
    assert_string_equal(text, "a.b.Outer.r");
    assert_int_equal(hs_java_method_source(&layout, &memory, &method, text, sizeof(text)), 11);
    assert_string_equal(text, "Source.java");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_int_equal(hs_java_method_line(&layout, &memory, &method, lines[i][0]), lines[i][1]);
    }
    assert_int_equal(hs_java_method_line(&layout, &memory, &method, 40), 0);
    uint64_t hash = hs_java_method_hash(&layout, &memory, &method);
    assert_true(hash != 0);
    image_put(&image, method.name_va + 6, 'R', 1);
    assert_true(hs_java_method_hash(&layout, &memory, &method) != hash);
    assert_true(hs_java_method_read(&layout, &memory, image.method_va[1], &method));
    hs_java_method_function(&layout, &memory, &method, text, sizeof(text));
    assert_string_equal(text, "a.Hidden/0x12.in");
    assert_false(hs_java_method_read(&layout, &memory, IMAGE_VA + IMAGE_BYTES, &method));
    assert_false(hs_java_method_read(&layout, &memory, image.method_va[1] + 1, &method));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout), cmocka_unit_test(test_refused), cmocka_unit_test(test_blobs),
        cmocka_unit_test(test_scopes), cmocka_unit_test(test_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
