/* Frames of PHP, in an image of its memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/script/php_frames.h"
#include "script_image.h"

static uint64_t string(struct script_image *image, const char *text)
{
    uint64_t va = image_take(image, 24 + (uint32_t)strlen(text));
    image_put(image, va + 4, 6, 4);
    image_word(image, va + 16, strlen(text));
    image_text(image, va + 24, text);
    return va;
}

/* A function with ten instructions, on lines 100, 101 and so on. */
static uint64_t function(struct script_image *image, uint8_t type, const char *class_name,
                         const char *name)
{
    uint64_t va = image_take(image, 240), ops_va = image_take(image, 10 * 32);
    image_put(image, va, type, 1);
    image_word(image, va + 8, name ? string(image, name) : 0);
    if (class_name) {
        uint64_t class_va = image_take(image, 64);
        image_word(image, class_va + 8, string(image, class_name));
        image_word(image, va + 16, class_va);
    }
    if (type != 1) {
        image_put(image, va + 80, 10, 4);
        image_word(image, va + 88, ops_va);
        image_word(image, va + 152, string(image, "/shop.php"));
        image_put(image, va + 160, 100, 4);
    }
    for (uint32_t i = 0; i < 10; i++) {
        image_put(image, ops_va + i * UINT64_C(32) + 24, 100 + i, 4);
    }
    return va;
}

/* A call of a function, which runs its instruction `op_idx`. */
static uint64_t call(struct script_image *image, uint64_t func_va, uint32_t op_idx, uint32_t info,
                     uint64_t prev_va)
{
    uint64_t va = image_take(image, 80), ops_va;
    memcpy(&ops_va, image->bytes + (func_va + 88 - IMAGE_VA), sizeof(ops_va));
    image_word(image, va, ops_va + op_idx * UINT64_C(32));
    image_word(image, va + 24, func_va);
    image_put(image, va + 40, info, 4);
    image_word(image, va + 48, prev_va);
    return va;
}

#define TOP 0x20000U

struct php {
    struct script_image image;
    struct hs_php roots;
    uint64_t module_va;
};

static void init(struct php *php)
{
    image_init(&php->image);
    php->roots.globals_va = image_take(&php->image, 512);
    php->roots.registry_va = image_take(&php->image, 64);
    php->module_va = image_take(&php->image, 168);
    uint64_t bucket_va = image_take(&php->image, 32);
    image_word(&php->image, php->roots.registry_va + 16, bucket_va);
    image_put(&php->image, php->roots.registry_va + 24, 1, 4);
    image_word(&php->image, bucket_va, php->module_va);
    image_put(&php->image, php->module_va, 168, 2);
    image_put(&php->image, php->module_va + 4, 20220829, 4);
}

static enum hs_script_end read_frames(struct php *php, uint64_t frame_va)
{
    const struct hs_script_sink sink = image_sink(&php->image, hs_php_describe, &php->roots);
    image_word(&php->image, php->roots.globals_va + 488, frame_va);
    return hs_php_read(&php->roots, &php->image.memory, &sink);
}

static void test_functions_and_methods(void **state)
{
    (void)state;
    struct php php;
    init(&php);
    struct script_image *image = &php.image;
    uint64_t va = call(image, function(image, 2, NULL, NULL), 9, TOP | 0x10000, 0);
    va = call(image, function(image, 2, NULL, NULL), 8, 0, va);
    va = call(image, function(image, 1, NULL, "usort"), 0, 0, va);
    va = call(image, function(image, 2, "Shop", "compare"), 3, TOP, va);
    va = call(image, function(image, 4, NULL, NULL), 1, 0, va);
    va = call(image, function(image, 1, NULL, "str_repeat"), 0, 0, va);
    assert_int_equal(read_frames(&php, va), HS_SCRIPT_WHOLE);
    assert_string_equal(image->report,
                        "str_repeat :0\n{eval} /shop.php:101\nShop::compare /shop.php:103\n-- 3\n"
                        "usort :0\n{include} /shop.php:108\n{main} /shop.php:109\n-- 6\n");
    image->frame_limit = 2;
    assert_int_equal(read_frames(&php, va), HS_SCRIPT_CUT);
}

/* A frame without a function, as of a generator, and an instruction of no function. */
static void test_frames_in_between(void **state)
{
    (void)state;
    struct php php;
    init(&php);
    struct script_image *image = &php.image;
    uint64_t va = call(image, function(image, 2, NULL, NULL), 2, TOP, 0);
    uint64_t empty_va = image_take(image, 80);
    image_word(image, empty_va + 48, va);
    va = call(image, function(image, 2, NULL, "numbers"), 11, TOP, empty_va);
    assert_int_equal(read_frames(&php, va), HS_SCRIPT_WHOLE);
    assert_string_equal(image->report, "numbers /shop.php:0\n-- 1\n{main} /shop.php:102\n-- 2\n");
}

/* A generator runs for two that wait in `yield from`: one empty frame stands for both. */
static void test_generators_that_wait(void **state)
{
    (void)state;
    struct php php;
    init(&php);
    struct script_image *image = &php.image;
    uint64_t main_va = call(image, function(image, 2, NULL, NULL), 1, TOP, 0);
    uint64_t waiting_va[2], root_va, generator_va[3];
    for (unsigned i = 0; i < 3; i++) {
        generator_va[i] = image_take(image, 264);
    }
    waiting_va[0] = call(image, function(image, 2, NULL, "outer"), 2, TOP, 0);
    waiting_va[1] = call(image, function(image, 2, NULL, "middle"), 3, TOP, 0);
    uint64_t fake_va = generator_va[0] + 184;
    image_word(image, fake_va + 32, generator_va[0]);
    image_word(image, fake_va + 48, main_va);
    root_va = call(image, function(image, 2, NULL, "inner"), 4, TOP, fake_va);
    image_word(image, generator_va[0] + 56, waiting_va[0]);
    image_word(image, generator_va[0] + 152, generator_va[1]);
    image_word(image, generator_va[1] + 56, waiting_va[1]);
    image_word(image, generator_va[1] + 152, generator_va[2]);
    image_word(image, generator_va[2] + 56, root_va);
    assert_int_equal(read_frames(&php, root_va), HS_SCRIPT_WHOLE);
    assert_string_equal(image->report, "inner /shop.php:104\n-- 1\nmiddle /shop.php:103\n"
                                       "outer /shop.php:102\n{main} /shop.php:101\n-- 4\n");
    image_word(image, generator_va[1] + 152, generator_va[0]); /* a circle */
    assert_int_equal(read_frames(&php, root_va), HS_SCRIPT_WHOLE);
    assert_string_equal(image->report, "inner /shop.php:104\n-- 1\n{main} /shop.php:101\n-- 2\n");
}

static void test_what_is_not_known(void **state)
{
    (void)state;
    struct php php;
    init(&php);
    struct script_image *image = &php.image;
    uint64_t func_va = function(image, 2, NULL, "f"), va = call(image, func_va, 0, TOP, 0);
    assert_int_equal(read_frames(&php, va), HS_SCRIPT_WHOLE);
    assert_int_equal(read_frames(&php, 0), HS_SCRIPT_NONE);
    assert_int_equal(read_frames(&php, 4711), HS_SCRIPT_UNKNOWN);
    image_put(image, func_va, 3, 1);
    assert_int_equal(read_frames(&php, va), HS_SCRIPT_UNKNOWN);
    image_put(image, func_va, 2, 1);
    image_word(image, func_va + 152, va); /* no string */
    assert_int_equal(read_frames(&php, va), HS_SCRIPT_UNKNOWN);
    image_put(image, php.module_va + 4, 20230831, 4);
    assert_int_equal(read_frames(&php, 0), HS_SCRIPT_UNKNOWN);
    image_put(image, php.module_va + 4, 20220829, 4);
    image_put(image, php.module_va + 9, 1, 1); /* with threads */
    assert_int_equal(read_frames(&php, 0), HS_SCRIPT_UNKNOWN);
    image_put(image, php.roots.registry_va + 24, 0, 4);
    assert_int_equal(read_frames(&php, va), HS_SCRIPT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_and_methods),
        cmocka_unit_test(test_frames_in_between),
        cmocka_unit_test(test_generators_that_wait),
        cmocka_unit_test(test_what_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
