/* Frames of Ruby, in an image of its memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/script/ruby_frames.h"
#include "script_image.h"

#define STACK_WORDS 256U

static uint64_t short_string(struct script_image *image, const char *text)
{
    uint64_t va = image_take(image, 40);
    image_word(image, va, 5 | strlen(text) << 14);
    image_text(image, va + 16, text);
    return va;
}

static uint64_t long_string(struct script_image *image, const char *text)
{
    uint64_t va = image_take(image, 40), text_va = image_take(image, (uint32_t)strlen(text));
    image_word(image, va, 5 | 0x2000);
    image_word(image, va + 16, strlen(text));
    image_word(image, va + 24, text_va);
    image_text(image, text_va, text);
    return va;
}

/* Code of 2000 words: its positions 0, 60 and 1000 begin lines 11, 12 and 13. */
static uint64_t code(struct script_image *image, const char *label, uint64_t path_va)
{
    uint64_t va = image_take(image, 40), body_va = image_take(image, 256);
    uint64_t info_va = image_take(image, 36), index_va = image_take(image, 48 + 2 * 80);
    image_word(image, va, 0x701a);
    image_word(image, va + 16, body_va);
    image_put(image, body_va + 4, 2000, 4);
    image_word(image, body_va + 8, UINT64_C(0x1000));
    image_word(image, body_va + 64, path_va);
    image_word(image, body_va + 80, short_string(image, label));
    image_word(image, body_va + 88, 10 << 1 | 1);
    image_word(image, body_va + 120, info_va);
    image_put(image, body_va + 136, 3, 4);
    image_word(image, body_va + 144, index_va);
    for (uint32_t i = 0; i < 3; i++) {
        image_put(image, info_va + i * UINT64_C(12), 11 + i, 4);
    }
    for (uint32_t i = 0; i < 6; i++) { /* nine times 1, of 7 bits each */
        image_word(image, index_va + i * UINT64_C(8), UINT64_C(0x0102040810204081));
    }
    /* Position 60 is the 6th behind the immediate ones; 1000 the 434th of the second block. */
    image_put(image, index_va + 48, 1, 4);
    for (unsigned part = 1; part < 8; part++) {
        uint64_t ranks;
        memcpy(&ranks, image->bytes + (index_va + 56 - IMAGE_VA), sizeof(ranks));
        image_word(image, index_va + 56, ranks | UINT64_C(1) << (part - 1) * 9);
    }
    image_word(image, index_va + 64, UINT64_C(1) << 6);
    image_put(image, index_va + 128, 2, 4);
    image_word(image, index_va + 136, UINT64_C(1) << 54); /* of part 7 */
    image_word(image, index_va + 144 + 6 * 8, UINT64_C(1) << 50);
    return va;
}

struct ruby {
    struct script_image image;
    struct hs_ruby roots;
    uint64_t ec_va, thread_va, stack_va, frame_va;
    uint64_t path_va; /* an array of two strings */
};

static void init(struct ruby *ruby)
{
    struct script_image *image = &ruby->image;
    image_init(image);
    ruby->ec_va = image_take(image, 64);
    ruby->thread_va = image_take(image, 64);
    ruby->stack_va = image_take(image, STACK_WORDS * 8);
    ruby->frame_va = ruby->stack_va + STACK_WORDS * 8 - 64; /* the bottom of a thread */
    image_word(image, ruby->ec_va, ruby->stack_va);
    image_word(image, ruby->ec_va + 8, STACK_WORDS);
    image_word(image, ruby->ec_va + 48, ruby->thread_va);
    image_word(image, ruby->thread_va + 40, ruby->ec_va);
    ruby->path_va = image_take(image, 40);
    image_word(image, ruby->path_va, 7 | 0x2000 | 2 << 15);
    image_word(image, ruby->path_va + 16, long_string(image, "lib/a_shop_with_a_long_name.rb"));
    ruby->roots.symbols_va = 0;
}

/* A control frame; `position`: of the next instruction. */
static uint64_t push(struct ruby *ruby, uint64_t iseq_va, uint32_t position, uint32_t flags)
{
    struct script_image *image = &ruby->image;
    uint64_t ep_va = image_take(image, 48) + 32;
    ruby->frame_va -= 64;
    image_word(image, ep_va, flags);
    image_word(image, ruby->frame_va, UINT64_C(0x1000) + position * UINT64_C(8));
    image_word(image, ruby->frame_va + 16, iseq_va);
    image_word(image, ruby->frame_va + 32, ep_va);
    image_word(image, ruby->ec_va + 16, ruby->frame_va);
    return ep_va;
}

static enum hs_script_end read_frames(struct ruby *ruby)
{
    const struct hs_script_sink sink = image_sink(&ruby->image, hs_ruby_describe, &ruby->roots);
    return hs_ruby_read(&ruby->roots, ruby->ec_va, &ruby->image.memory, &sink);
}

static void test_methods_and_lines(void **state)
{
    (void)state;
    struct ruby ruby;
    init(&ruby);
    uint64_t main_va = code(&ruby.image, "<main>", ruby.path_va);
    uint64_t buy_va = code(&ruby.image, "buy", short_string(&ruby.image, "buy.rb"));
    push(&ruby, main_va, 1, 0x20);
    push(&ruby, buy_va, 61, 0);
    push(&ruby, buy_va, 60, 0x20);
    push(&ruby, buy_va, 1001, 0);
    push(&ruby, buy_va, 1000, 0);
    assert_int_equal(read_frames(&ruby), HS_SCRIPT_WHOLE);
    assert_string_equal(ruby.image.report,
                        "buy buy.rb:12\nbuy buy.rb:13\nbuy buy.rb:11\n-- 3\nbuy buy.rb:12\n"
                        "<main> lib/a_shop_with_a_long_name.rb:11\n-- 5\n");
    ruby.image.frame_limit = 2;
    assert_int_equal(read_frames(&ruby), HS_SCRIPT_CUT);
}

/* A method that is written in C has the name that its ID has. */
static void test_methods_in_c(void **state)
{
    (void)state;
    struct ruby ruby;
    init(&ruby);
    struct script_image *image = &ruby.image;
    uint64_t unit_va = image_take(image, 40), data_va = image_take(image, 2048);
    uint64_t ids_va = image_take(image, 40), method_va = image_take(image, 40);
    uint64_t def_va = image_take(image, 64);
    ruby.roots.symbols_va = image_take(image, 64);
    image_put(image, ruby.roots.symbols_va, 200, 4);
    image_word(image, ruby.roots.symbols_va + 16, ids_va);
    image_word(image, ids_va, 7 | 0x2000 | 1 << 15);
    image_word(image, ids_va + 16, unit_va);
    image_word(image, unit_va, 7);
    image_word(image, unit_va + 16, 256);
    image_word(image, unit_va + 32, data_va);
    image_word(image, data_va + 2 * 100 * 8, short_string(image, "each"));
    image_word(image, method_va, 0x601a);
    image_word(image, method_va + 16, def_va);
    image_put(image, def_va, 1, 1);
    image_word(image, def_va + 32, 100);
    push(&ruby, code(image, "<main>", ruby.path_va), 1, 0x20);
    uint64_t ep_va = push(&ruby, 0, 0, 0x82);
    image_word(image, ep_va - 16, method_va);
    assert_int_equal(read_frames(&ruby), HS_SCRIPT_WHOLE);
    assert_memory_equal(image->report, "each :0\n<main> ", 15);
    image_word(image, def_va + 32, 120); /* has no text */
    assert_int_equal(read_frames(&ruby), HS_SCRIPT_WHOLE);
    assert_memory_equal(image->report, "<main> ", 7);
}

/* What rb_id2str() looks like. */
static void test_table_of_symbols(void **state)
{
    (void)state;
    struct script_image image;
    image_init(&image);
    uint64_t outer_va = image_take(&image, 64), inner_va = image_take(&image, 256);
    image_put(&image, outer_va + 10, 0xe9, 1);
    image_put(&image, outer_va + 11, inner_va - outer_va - 15, 4);
    image_put(&image, inner_va + 20, 0x3d39, 2);
    image_put(&image, inner_va + 22, 0x1000 - 26, 4);
    image_put(&image, inner_va + 40, 0x3d8b48, 3);
    image_put(&image, inner_va + 43, 0x1010 - 47, 4);
    assert_int_equal(hs_ruby_find_symbols(outer_va, &image.memory), inner_va + 0x1000);
    image_put(&image, inner_va + 43, 0x1018 - 47, 4);
    assert_int_equal(hs_ruby_find_symbols(outer_va, &image.memory), 0);
    assert_int_equal(hs_ruby_find_symbols(5, &image.memory), 0);
}

static void test_what_is_not_known(void **state)
{
    (void)state;
    struct ruby ruby;
    init(&ruby);
    uint64_t main_va = code(&ruby.image, "<main>", ruby.path_va);
    assert_int_equal(read_frames(&ruby), HS_SCRIPT_NONE);
    push(&ruby, main_va, 2002, 0x20); /* outside the code */
    assert_int_equal(read_frames(&ruby), HS_SCRIPT_UNKNOWN);
    image_word(&ruby.image, ruby.frame_va, 0x1000);
    assert_int_equal(read_frames(&ruby), HS_SCRIPT_WHOLE);
    image_word(&ruby.image, main_va, 0x601a); /* no code */
    assert_int_equal(read_frames(&ruby), HS_SCRIPT_UNKNOWN);
    image_word(&ruby.image, main_va, 0x701a);
    image_word(&ruby.image, ruby.thread_va + 40, ruby.thread_va);
    assert_int_equal(read_frames(&ruby), HS_SCRIPT_UNKNOWN);
    assert_true(hs_ruby_is_known("3.1."));
    assert_false(hs_ruby_is_known("3.10"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods_and_lines),
        cmocka_unit_test(test_methods_in_c),
        cmocka_unit_test(test_table_of_symbols),
        cmocka_unit_test(test_what_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
