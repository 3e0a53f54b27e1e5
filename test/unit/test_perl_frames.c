/* Frames of Perl, in an image of its memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/script/perl_frames.h"
#include "script_image.h"

static const struct hs_perl perl = { .nextstate_va = 0x1111, .dbstate_va = 0x2222, .null_va = 3 };

static uint64_t hek(struct script_image *image, const char *name)
{
    uint64_t va = image_take(image, 64);
    image_put(image, va + 4, strlen(name), 4);
    image_text(image, va + 8, name);
    return va;
}

static uint64_t statement(struct script_image *image, const char *file, uint32_t line)
{
    uint64_t va = image_take(image, 88), file_va = image_take(image, 64);
    image_word(image, va + 16, perl.nextstate_va);
    image_put(image, va + 36, line, 4);
    image_word(image, va + 48, file_va);
    image_text(image, file_va, file);
    return va;
}

static uint64_t stash(struct script_image *image, const char *name)
{
    uint64_t va = image_take(image, 24), body_va = image_take(image, 88);
    image_word(image, va, body_va);
    image_put(image, va + 12, 12 | 0x2000000, 4);
    image_word(image, body_va + 32, hek(image, name));
    return va;
}

/* A sub that has a glob with its name. */
static uint64_t sub(struct script_image *image, const char *package, const char *name)
{
    uint64_t va = image_take(image, 24), body_va = image_take(image, 128);
    uint64_t gv_va = image_take(image, 24), gv_body_va = image_take(image, 48);
    image_word(image, va, body_va);
    image_put(image, va + 12, 13, 4);
    image_word(image, body_va + 56, gv_va);
    image_word(image, gv_va, gv_body_va);
    image_put(image, gv_va + 12, 9, 4);
    image_word(image, gv_body_va + 32, hek(image, name));
    image_word(image, gv_body_va + 40, stash(image, package));
    return va;
}

/* Its contexts. */
struct contexts {
    struct script_image *image;
    uint64_t si_va, stack_va;
    uint32_t count;
};

static void push(struct contexts *c, uint8_t type, uint64_t old_cop_va, uint64_t retop_va,
                 uint64_t cv_va)
{
    uint64_t va = c->stack_va + c->count * UINT64_C(104);
    image_put(c->image, va, type, 1);
    image_word(c->image, va + 16, old_cop_va);
    image_word(c->image, va + 48, retop_va);
    image_word(c->image, va + 72, cv_va);
    image_put(c->image, c->si_va + 32, c->count++, 4);
}

static struct contexts stackinfo(struct script_image *image, uint64_t prev_va)
{
    struct contexts c = { .image = image };
    c.si_va = image_take(image, 64);
    c.stack_va = image_take(image, 10 * 104);
    image_word(image, c.si_va + 8, c.stack_va);
    image_word(image, c.si_va + 16, prev_va);
    image_put(image, c.si_va + 32, UINT32_MAX, 4);
    return c;
}

static uint64_t interpreter(struct script_image *image, uint64_t cop_va, uint64_t si_va)
{
    uint64_t va = image_take(image, 3768);
    image_word(image, va + 208, cop_va);
    image_word(image, va + 224, si_va);
    return va;
}

static enum hs_script_end read_frames(struct script_image *image, uint64_t interp_va)
{
    const struct hs_script_sink sink = image_sink(image, hs_perl_describe, &perl);
    return hs_perl_read(interp_va, &image->memory, &sink);
}

static void test_subs_and_evals(void **state)
{
    (void)state;
    struct script_image image;
    image_init(&image);
    struct contexts c = stackinfo(&image, 0);
    push(&c, 9, statement(&image, "main.pl", 30), 1, sub(&image, "main", "run"));
    push(&c, 11 | 0x40, statement(&image, "main.pl", 20), 1, 0);
    push(&c, 4, 0, 0, 0); /* a loop */
    push(&c, 9, statement(&image, "main.pl", 21), 1, sub(&image, "Shop", "buy"));
    uint64_t interp_va = interpreter(&image, statement(&image, "Shop.pm", 10), c.si_va);
    assert_int_equal(read_frames(&image, interp_va), HS_SCRIPT_WHOLE);
    assert_string_equal(image.report, "Shop::buy Shop.pm:10\n(eval) main.pl:21\n"
                                      "main::run main.pl:20\n(main program) main.pl:30\n-- 4\n");
    image.frame_limit = 2;
    assert_int_equal(read_frames(&image, interp_va), HS_SCRIPT_CUT);
}

/* A sort calls a sub, in a run loop of its own; its eval needs one more. */
static void test_called_by_c(void **state)
{
    (void)state;
    struct script_image image;
    image_init(&image);
    struct contexts outer = stackinfo(&image, 0), inner = stackinfo(&image, outer.si_va);
    push(&outer, 9, statement(&image, "main.pl", 3), 1, sub(&image, "main", "run"));
    push(&inner, 9, statement(&image, "main.pl", 4), 0, sub(&image, "main", "compare"));
    push(&inner, 11 | 0x40, statement(&image, "main.pl", 5), 1, 0);
    uint64_t interp_va = interpreter(&image, statement(&image, "main.pl", 6), inner.si_va);
    assert_int_equal(read_frames(&image, interp_va), HS_SCRIPT_WHOLE);
    assert_string_equal(image.report, "(eval) main.pl:6\nmain::compare main.pl:5\n-- 1\n-- 2\n"
                                      "main::run main.pl:4\n(main program) main.pl:3\n-- 4\n");
}

/* A call that catches exceptions itself (call_sv with G_EVAL) needs no other run loop for evals. */
static void test_called_by_c_in_an_eval(void **state)
{
    (void)state;
    struct script_image image;
    image_init(&image);
    struct contexts c = stackinfo(&image, 0);
    push(&c, 11 | 0x40, statement(&image, "main.pl", 4), 0, 0);
    push(&c, 9, statement(&image, "main.pl", 4), 0, sub(&image, "Thing", "DESTROY"));
    push(&c, 11 | 0x40, statement(&image, "main.pl", 5), 1, 0);
    uint64_t interp_va = interpreter(&image, statement(&image, "main.pl", 6), c.si_va);
    assert_int_equal(read_frames(&image, interp_va), HS_SCRIPT_WHOLE);
    assert_string_equal(image.report, "(eval) main.pl:6\nThing::DESTROY main.pl:5\n-- 2\n"
                                      "(eval) main.pl:4\n(main program) main.pl:4\n-- 4\n");
}

/* Statements that are being compiled, and those that were removed. */
static void test_odd_statements(void **state)
{
    (void)state;
    struct script_image image;
    image_init(&image);
    struct contexts c = stackinfo(&image, 0);
    uint64_t removed_va = statement(&image, "main.pl", 7), copy_va = statement(&image, "", 9);
    uint64_t interp_va = interpreter(&image, removed_va, c.si_va);
    image_word(&image, removed_va + 16, perl.null_va);
    assert_int_equal(read_frames(&image, interp_va), HS_SCRIPT_UNKNOWN);
    image_word(&image, removed_va + 24, 195);
    assert_int_equal(read_frames(&image, interp_va), HS_SCRIPT_WHOLE);
    assert_string_equal(image.report, "(main program) main.pl:7\n-- 1\n");
    image_word(&image, interp_va + 208, interp_va + 1936);
    image_put(&image, interp_va + 1936 + 36, 8, 4);
    assert_int_equal(read_frames(&image, interp_va), HS_SCRIPT_WHOLE);
    assert_string_equal(image.report, "(main program) :8\n-- 1\n");
    image_word(&image, interp_va + 208, copy_va);
    image_word(&image, copy_va + 16, 0);
    assert_int_equal(read_frames(&image, interp_va), HS_SCRIPT_UNKNOWN);
    image_word(&image, interp_va + 1936 + 48, IMAGE_VA);
    image_word(&image, copy_va + 48, IMAGE_VA);
    assert_int_equal(read_frames(&image, interp_va), HS_SCRIPT_WHOLE);
}

static void test_what_is_not_known(void **state)
{
    (void)state;
    struct script_image image;
    image_init(&image);
    struct contexts c = stackinfo(&image, 0);
    uint64_t cop_va = statement(&image, "main.pl", 7);
    push(&c, 9, cop_va, 1, cop_va); /* no sub */
    uint64_t interp_va = interpreter(&image, cop_va, c.si_va);
    assert_int_equal(read_frames(&image, interp_va), HS_SCRIPT_UNKNOWN);
    image_put(&image, c.si_va + 32, 0x7fffffff, 4);
    assert_int_equal(read_frames(&image, interp_va), HS_SCRIPT_UNKNOWN);
    image_word(&image, interp_va + 224, 0);
    assert_int_equal(read_frames(&image, interp_va), HS_SCRIPT_NONE);
    assert_int_equal(read_frames(&image, 5), HS_SCRIPT_NONE);
    assert_true(hs_perl_is_known(&(struct hs_perl_identity){ 5, 36, 3768 }));
    assert_false(hs_perl_is_known(&(struct hs_perl_identity){ 5, 36, 3776 }));
    assert_false(hs_perl_is_known(&(struct hs_perl_identity){ 5, 38, 3768 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subs_and_evals),         cmocka_unit_test(test_called_by_c),
        cmocka_unit_test(test_called_by_c_in_an_eval), cmocka_unit_test(test_odd_statements),
        cmocka_unit_test(test_what_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
