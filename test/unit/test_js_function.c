/* JavaScript functions in memory images with the layouts of V8 11.3 and 13.6. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "v8/js_function.h"
#include "v8_image.h"

static struct v8_image image;
static struct hs_v8_layout layout;
static const struct hs_v8 v8 = { .layout = &layout, .memory = { v8_image_read, &image } };
static struct hs_js_name name;

static int set_up_version(bool is_v8_13)
{
    v8_image_init(&image, is_v8_13);
    return hs_v8_layout_read(&v8.memory, v8_image_symbol, &image, &layout) == HS_V8_READ ? 0 : -1;
}

static int set_up(void **state)
{
    (void)state;
    return set_up_version(false);
}

static int set_up_v8_13(void **state)
{
    (void)state;
    return set_up_version(true);
}

static bool read_function(uint64_t function)
{
    struct hs_js_identity identity;
    return hs_js_function_identify(&v8, function, &identity) &&
           hs_js_function_read(&v8, function, &identity, &name);
}

/* The text of a string. */
static void assert_text(uint64_t string, const char *want)
{
    char text[600];
    struct hs_v8_text to = { .text = text, .max_bytes = 511 };
    assert_true(hs_v8_text_add(&v8, string, &to));
    assert_int_equal(to.bytes, strlen(want));
    assert_memory_equal(text, want, to.bytes);
}

static void assert_function(uint64_t function, const char *want, const char *file, uint32_t line)
{
    assert_true(read_function(function));
    assert_int_equal(name.function_bytes, strlen(want));
    assert_memory_equal(name.function, want, strlen(want));
    assert_int_equal(name.file_bytes, strlen(file));
    assert_memory_equal(name.file, file, strlen(file));
    assert_int_equal(name.line, line);
}

static void test_symbols(void **state)
{
    struct hs_v8_layout other;
    (void)state;
    for (uint32_t i = 0; i < V8_IMAGE_SYMBOLS; i++) {
        image.hidden_symbol = v8_image_symbols[i].name;
        assert_int_equal(hs_v8_layout_read(&v8.memory, v8_image_symbol, &image, &other),
                         HS_V8_NO_SYMBOLS);
        image.hidden_symbol = NULL;
        int32_t bad = 1 << 20;
        memcpy(image.bytes + 8 * i, &bad, 4);
        assert_int_equal(hs_v8_layout_read(&v8.memory, v8_image_symbol, &image, &other),
                         HS_V8_UNKNOWN_LAYOUT);
        memcpy(image.bytes + 8 * i, &v8_image_symbols[i].value, 4);
    }
}

/* The scopes of V8 before 10 have a word more, and no symbol says so. */
static void test_old_version(void **state)
{
    struct hs_v8_layout other;
    int32_t old = 64;
    (void)state;
    uint64_t va = v8_image_symbol(&image, "v8dbg_FirstNonstringType");
    memcpy(image.bytes + (va - V8_IMAGE_VA), &old, 4);
    assert_int_equal(hs_v8_layout_read(&v8.memory, v8_image_symbol, &image, &other),
                     HS_V8_UNKNOWN_LAYOUT);
}

static void test_strings(void **state)
{
    (void)state;
    static const uint16_t wide[] = { 'a', 0xe4, 0x4e2d, 0xd83d, 0xde00, 0xd800, 'b', 0xdc00, 0 };
    uint64_t latin = v8_image_text(&image, "caf\xe9"), empty = v8_image_text(&image, "");
    uint64_t two = v8_image_object(&image, V8_TWO_BYTE, 16 + sizeof(wide));
    v8_image_length(&image, two, sizeof(wide) / 2);
    memcpy(image.bytes + (two - 1 - V8_IMAGE_VA) + 16, wide, sizeof(wide));
    assert_text(latin, "caf\xc3\xa9");
    assert_text(empty, "");
    assert_text(two, "a\xc3\xa4\xe4\xb8\xad\xf0\x9f\x98\x80\xef\xbf\xbd"
                     "b\xef\xbf\xbd?");
    uint64_t dot = v8_image_pair(&image, V8_CONS, 5, latin, v8_image_text(&image, "."));
    uint64_t cons = v8_image_pair(&image, V8_CONS, 9, dot, v8_image_text(&image, "name"));
    assert_text(cons, "caf\xc3\xa9.name");
    assert_text(v8_image_pair(&image, V8_THIN, 4, latin, 0), "caf\xc3\xa9");
    assert_text(v8_image_pair(&image, V8_SLICED, 2, latin, v8_image_smi(1)), "af");
    assert_text(v8_image_pair(&image, V8_SLICED, 4, cons, v8_image_smi(3)), "\xc3\xa9.na");
    uint64_t chars_va = latin - 1 + 16;
    assert_text(v8_image_pair(&image, V8_EXTERNAL, 3, 8, chars_va), "caf");
}

/* A string longer than the room is cut between characters. */
static void test_long_string(void **state)
{
    (void)state;
    static char text[400];
    memset(text, '\xe9', sizeof(text) - 1);
    char to[512];
    struct hs_v8_text out = { .text = to, .max_bytes = 511 };
    assert_true(hs_v8_text_add(&v8, v8_image_text(&image, text), &out));
    assert_true(out.is_cut);
    assert_int_equal(out.bytes, 510);
}

static void test_functions(void **state)
{
    (void)state;
    uint64_t source = v8_image_text(&image, "a\r\nb\rc\nfunction d() {}\n");
    uint64_t script = v8_image_script(&image, v8_image_text(&image, "/a b.js"), source, 7);
    uint64_t text = v8_image_text(&image, "buy"), inferred = v8_image_text(&image, "Shop.buy");
    const uint32_t both = V8_SCOPE_NAMED | V8_SCOPE_INFERRED;
    uint64_t scope = v8_image_scope(&image, 2 | V8_SCOPE_NAMED, 3, text, 0, 15);
    assert_function(v8_image_function(&image, scope, script, 1), "buy", "/a b.js", 4);
    scope = v8_image_scope(&image, 2 | both, 0, 0, inferred, 4);
    assert_function(v8_image_function(&image, scope, script, 1), "Shop.buy", "/a b.js", 2);
    scope = v8_image_scope(&image, 2 | both | V8_SCOPE_CLASS, 200, text, inferred, 0);
    assert_function(v8_image_function(&image, scope, script, 1), "buy", "/a b.js", 1);
    scope = v8_image_scope(&image, 0, 0, 0, 0, 4);
    assert_function(v8_image_function(&image, scope, script, 1), "", "/a b.js", 2);
    static const uint32_t counts[] = { 0, 5, 200 };
    for (uint32_t i = 0; i < 3; i++) {
        scope = v8_image_scope(&image, V8_SCOPE_MODULE, counts[i], 0, 0, 6);
        assert_function(v8_image_function(&image, scope, script, 1), "", "/a b.js", 3);
        scope =
            v8_image_scope(&image, V8_SCOPE_MODULE | V8_SCOPE_INFERRED, counts[i], 0, inferred, 6);
        assert_function(v8_image_function(&image, scope, script, 1), "Shop.buy", "/a b.js", 3);
    }
    /* V8's own functions. */
    uint64_t undefined = v8_image_object(&image, V8_ODDBALL, 48);
    assert_function(v8_image_function(&image, text, undefined, 1), "buy", "", 0);
    assert_false(read_function(v8_image_function(&image, v8_image_smi(0), undefined, 1)));
}

static void test_lines_that_v8_knows(void **state)
{
    (void)state;
    uint64_t script = v8_image_script(&image, v8_image_text(&image, "x.js"), v8_image_smi(0), 7);
    uint64_t ends = v8_image_object(&image, V8_ARRAY, 48);
    static const uint32_t at[] = { 10, 20, 20000 };
    v8_image_put(&image, ends, 8, v8_image_smi(3));
    for (uint32_t i = 0; i < 3; i++) {
        v8_image_put(&image, ends, 16 + 8 * i, v8_image_smi(at[i]));
    }
    v8_image_put(&image, script, 56, ends);
    static const uint32_t positions[] = { 0, 10, 11, 20, 21, 20000, 20001 };
    static const uint32_t lines[] = { 1, 1, 2, 2, 3, 3, 0 };
    for (uint32_t i = 0; i < 7; i++) {
        uint64_t scope = v8_image_scope(&image, 2, 0, 0, 0, positions[i]);
        assert_function(v8_image_function(&image, scope, script, i), "", "x.js", lines[i]);
    }
}

static void test_eval(void **state)
{
    (void)state;
    uint64_t undefined = v8_image_object(&image, V8_ODDBALL, 48);
    uint64_t script = v8_image_script(&image, undefined, v8_image_text(&image, "f()"), 9);
    uint64_t function = v8_image_function(&image, v8_image_scope(&image, 1, 0, 0, 0, 0), script, 0);
    assert_function(function, "", "", 1);
    v8_image_put(&image, script, 72, v8_image_object(&image, V8_SHARED, 64));
    assert_function(function, "eval", "", 1);
}

/* What the garbage collector has moved is read where it is now. */
static void test_moved(void **state)
{
    (void)state;
    uint64_t script =
        v8_image_script(&image, v8_image_text(&image, "x.js"), v8_image_text(&image, "f()"), 9);
    uint64_t scope =
        v8_image_scope(&image, 2 | V8_SCOPE_NAMED, 0, v8_image_text(&image, "f"), 0, 1);
    uint64_t old = v8_image_object(&image, V8_SCOPE, 128);
    v8_image_put(&image, old, 0, scope - 1);
    assert_function(v8_image_function(&image, old, script, 1), "f", "x.js", 1);
    /* A chain of two is not followed. */
    uint64_t older = v8_image_object(&image, V8_SCOPE, 128);
    v8_image_put(&image, older, 0, old - 1);
    assert_false(read_function(v8_image_function(&image, older, v8_image_smi(0), 1)));
}

/* Functions are told apart even where the addresses are the same. */
static void test_identity(void **state)
{
    (void)state;
    uint64_t script =
        v8_image_script(&image, v8_image_text(&image, "x.js"), v8_image_text(&image, "f()"), 9);
    uint64_t function = v8_image_function(&image, v8_image_scope(&image, 2, 0, 0, 0, 1), script, 1);
    struct hs_js_identity one, other;
    assert_true(hs_js_function_identify(&v8, function, &one));
    v8_image_put(&image, script, 64, v8_image_smi(10));
    assert_true(hs_js_function_identify(&v8, function, &other));
    assert_memory_not_equal(&one, &other, sizeof(one));
    v8_image_put(&image, script, 64, v8_image_smi(9));
    v8_image_put(&image, one.shared, 48, UINT64_C(2) << 32 | 1);
    assert_true(hs_js_function_identify(&v8, function, &other));
    assert_memory_not_equal(&one, &other, sizeof(one));
    /* V8 changes the flags while the function is the same. */
    v8_image_put(&image, one.shared, 48, UINT64_C(1) << 32 | 77);
    assert_true(hs_js_function_identify(&v8, function, &other));
    assert_memory_equal(&one, &other, sizeof(one));
}

static bool is_still(uint64_t function, const struct hs_js_identity *identity)
{
    void *at = mmap((void *)(uintptr_t)V8_IMAGE_VA, V8_IMAGE_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_ptr_equal(at, (void *)(uintptr_t)V8_IMAGE_VA);
    memcpy(at, image.bytes, V8_IMAGE_BYTES);
    bool is = hs_js_function_is(&layout, function, identity);
    munmap(at, V8_IMAGE_BYTES);
    return is;
}

/* Whichever word of the objects changes: the short way to compare says what the long way says. */
static void test_same_identity(void **state)
{
    (void)state;
    uint64_t script =
        v8_image_script(&image, v8_image_text(&image, "x.js"), v8_image_text(&image, "f()"), 9);
    uint64_t function = v8_image_function(&image, v8_image_scope(&image, 2, 0, 0, 0, 1), script, 1);
    struct hs_js_identity one, other;
    assert_true(hs_js_function_identify(&v8, function, &one));
    assert_true(is_still(function, &one));
    const uint64_t objects[] = { function, one.shared, script };
    uint32_t different = 0;
    for (uint32_t i = 0; i < 3 * 16; i++) {
        uint64_t word;
        assert_true(hs_v8_word(&v8, objects[i / 16], 8 * (i % 16), &word));
        v8_image_put(&image, objects[i / 16], 8 * (i % 16), word ^ UINT64_C(0x100000008));
        bool is_same = hs_js_function_identify(&v8, function, &other) &&
                       memcmp(&one, &other, sizeof(one)) == 0;
        assert_int_equal(is_still(function, &one), is_same);
        different += !is_same;
        v8_image_put(&image, objects[i / 16], 8 * (i % 16), word);
    }
    assert_true(different >= 8);
    /* One that has no script is always read the long way. */
    function = v8_image_function(&image, v8_image_text(&image, "f"), v8_image_smi(0), 1);
    assert_true(hs_js_function_identify(&v8, function, &one));
    assert_false(is_still(function, &one));
}

/* Line ends of every kind, at every place. */
static void test_line_ends(void **state)
{
    (void)state;
    static const char *const alphabets[] = { "a\n", "abcdefgh\n", "a\r\n", "abcdefghijk\r\n",
                                             "\v\x8a\xff\n" };
    uint64_t random = 1;
    for (uint32_t i = 0; i < 5 * 4; i++) {
        char text[1024] = "";
        size_t kinds = strlen(alphabets[i % 5]);
        for (uint32_t at = 0; at + 1 < sizeof(text); at++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            text[at] = alphabets[i % 5][(random >> 33) % kinds];
        }
        uint64_t string = v8_image_text(&image, text);
        for (uint32_t position = 0, wanted = 0; position < sizeof(text); position++) {
            uint32_t line_ends;
            assert_true(hs_v8_count_lines(&v8, string, position, &line_ends));
            assert_int_equal(line_ends, wanted);
            wanted += text[position] == '\r' ||
                      (text[position] == '\n' && (position == 0 || text[position - 1] != '\r'));
        }
    }
}

/* Strings that refer to each other end after a bounded number of reads. */
static void test_circles(void **state)
{
    (void)state;
    char to[512];
    struct hs_v8_text out = { .text = to, .max_bytes = 511 };
    uint64_t thin = v8_image_pair(&image, V8_THIN, 4, 0, 0);
    v8_image_put(&image, thin, 16, thin);
    assert_false(hs_v8_text_add(&v8, thin, &out));
    uint64_t cons = v8_image_pair(&image, V8_CONS, 1000, 0, 0);
    v8_image_put(&image, cons, 16, cons);
    v8_image_put(&image, cons, 24, cons);
    assert_false(hs_v8_text_add(&v8, cons, &out));
    uint32_t lines;
    assert_false(hs_v8_count_lines(&v8, cons, 10, &lines));
    assert_true(image.read_count < 2000);
}

static void test_no_functions(void **state)
{
    (void)state;
    struct hs_js_identity identity;
    uint64_t text = v8_image_text(&image, "f"), context = v8_image_object(&image, V8_CONTEXT, 32);
    assert_true(hs_js_is_context(&v8, context));
    assert_false(hs_js_is_context(&v8, text));
    assert_false(hs_js_is_context(&v8, v8_image_smi(3)));
    assert_false(hs_js_function_identify(&v8, 0, &identity));
    assert_false(hs_js_function_identify(&v8, v8_image_smi(4), &identity));
    assert_false(hs_js_function_identify(&v8, UINT64_MAX, &identity));
    /* Something else with a reference to a function's shared part in the same place. */
    uint64_t function = v8_image_function(&image, text, text, 1), word;
    assert_true(hs_v8_word(&v8, function, 24, &word));
    uint64_t other = v8_image_object(&image, V8_CONTEXT, 64);
    v8_image_put(&image, other, 24, word);
    assert_true(read_function(function));
    assert_false(read_function(other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_symbols, set_up),
        cmocka_unit_test_setup(test_old_version, set_up),
        cmocka_unit_test_setup(test_strings, set_up),
        cmocka_unit_test_setup(test_long_string, set_up),
        cmocka_unit_test_setup(test_functions, set_up),
        cmocka_unit_test_setup(test_functions, set_up_v8_13),
        cmocka_unit_test_setup(test_lines_that_v8_knows, set_up),
        cmocka_unit_test_setup(test_eval, set_up),
        cmocka_unit_test_setup(test_eval, set_up_v8_13),
        cmocka_unit_test_setup(test_moved, set_up),
        cmocka_unit_test_setup(test_identity, set_up),
        cmocka_unit_test_setup(test_same_identity, set_up),
        cmocka_unit_test_setup(test_line_ends, set_up),
        cmocka_unit_test_setup(test_circles, set_up),
        cmocka_unit_test_setup(test_no_functions, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
