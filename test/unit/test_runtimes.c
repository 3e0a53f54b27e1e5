/* analyse/runtimes.h: what an interpreter allocates counts for the functions that it runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "profile/analyse/aggregate.h"
#include "profile/model/runtime_frames.h"
#include "util/buf.h"

static struct fixture fx;
static uint32_t program, python, extension;

/* A frame of one function with its file. */
static uint32_t call(uint32_t parent, uint32_t module, enum hs_frame_kind kind, const char *name,
                     const char *file)
{
    fx.module = module;
    uint32_t node = fixture_call(&fx, parent, name);
    struct hs_profile_frame *frame = &fx.p.frames[fx.p.nodes[node].frame];
    frame->kind = (uint8_t)kind;
    fx.p.lines[frame->line_first].file = fixture_string(&fx, file);
    return node;
}

static uint32_t native(uint32_t parent, uint32_t module, const char *name)
{
    return call(parent, module, HS_FRAME_KIND_NATIVE, name, "");
}

static uint32_t script(uint32_t parent, const char *name, const char *file)
{
    return call(parent, program, HS_FRAME_KIND_INTERPRETED, name, file);
}

static void set_up_python(void)
{
    fx = fixture_new();
    fx.line = 1;
    program = fixture_module(&fx, "/[python]", 0);
    python = fixture_module(&fx, "/usr/bin/python3.11", 0x1000);
    extension = fixture_module(&fx, "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", 0x2000);
}

static void check(const char *function, double self, double total, const char *headline)
{
    struct hs_selection selection;
    struct hs_agg agg;
    struct hs_agg_row *rows;
    uint32_t count, i;
    struct hs_buf name = HS_BUF_INIT;
    const struct hs_select_spec spec = { .snapshot = HS_SELECT_LAST };
    assert_int_equal(hs_select_dumps(&fx.p, &spec, &selection), 0);
    assert_int_equal(hs_agg_build(&selection, false, &agg), 0);
    assert_int_equal(hs_agg_functions(&agg, HS_QUANTITY_LIVE, &rows, &count), 0);
    for (i = 0; i < count; i++) {
        hs_buf_clear(&name);
        hs_agg_write_function(&agg, rows[i].function, &name);
        if (strcmp(hs_buf_text(&name), function) == 0) {
            break;
        }
    }
    assert_true(i < count);
    assert_true(rows[i].self.bytes == self);
    assert_true(rows[i].total.bytes == total);
    hs_buf_clear(&name);
    uint32_t node = hs_agg_headline(&agg, agg.selves[0].node);
    hs_agg_write_function(&agg, agg.nodes[node].function, &name);
    assert_string_equal(hs_buf_text(&name), headline);
    hs_buf_deinit(&name);
    free(rows);
    hs_agg_deinit(&agg);
    hs_selection_deinit(&selection);
}

static void sample(uint32_t node, double bytes)
{
    fixture_sample(&fx, node, fixture_exact(bytes, 1), fixture_exact(bytes, 1),
                   fixture_exact(0, 0));
}

/* main -> <module> -> build -> (runtime) -> PyUnicode_New, and json.loads of the standard library
 * below build. */
static void test_script(void **state)
{
    (void)state;
    set_up_python();
    uint32_t main_ = native(HS_NODE_NONE, python, "main");
    uint32_t module = script(native(main_, python, "Py_RunMain"), "<module>", "/home/u/n.py");
    uint32_t build = script(module, "build", "/home/u/n.py");
    uint32_t leaf = native(native(build, python, "sequence_repeat"), python, "PyUnicode_New");
    uint32_t loads = script(build, "loads", "/usr/lib/python3.11/json/__init__.py");
    uint32_t below = native(loads, python, "new_dict");
    fixture_process(&fx, 100, "python3");
    fixture_dump(&fx, 0);
    sample(leaf, 40);
    sample(below, 5);
    check("build", 45, 45, "build");
    check("PyUnicode_New", 0, 40, "build");
    check("loads", 0, 5, "build");
    fixture_deinit(&fx);
}

/* A library that the script calls, and that calls the runtime, is not the runtime. */
static void test_extension(void **state)
{
    (void)state;
    set_up_python();
    uint32_t main_ = native(HS_NODE_NONE, python, "main");
    uint32_t build = script(main_, "build", "/usr/lib/python3/dist-packages/x/y.py");
    uint32_t insert = native(build, extension, "sqlite3BtreeInsert");
    uint32_t leaf = native(insert, python, "PyList_New");
    fixture_process(&fx, 100, "python3");
    fixture_dump(&fx, 0);
    sample(insert, 7);
    sample(leaf, 40);
    check("sqlite3BtreeInsert", 47, 47, "sqlite3BtreeInsert");
    check("build", 0, 47, "sqlite3BtreeInsert");
    fixture_deinit(&fx);
}

/* What the interpreter allocates before it runs anything is its own; without functions of a script,
 * nothing is marked. */
static void test_without_script(void **state)
{
    (void)state;
    for (int has_script = 0; has_script < 2; has_script++) {
        set_up_python();
        uint32_t main_ = native(HS_NODE_NONE, python, "main");
        uint32_t leaf =
            native(native(main_, python, "Py_InitializeFromConfig"), python, "new_dict");
        uint32_t build = has_script ? script(main_, "build", "/home/u/n.py") : 0;
        fixture_process(&fx, 100, "python3");
        fixture_dump(&fx, 0);
        sample(leaf, 40);
        if (has_script) {
            sample(build, 1);
        }
        check("new_dict", 40, 40, "new_dict");
        fixture_deinit(&fx);
    }
}

static void test_patterns(void **state)
{
    (void)state;
    assert_true(hs_frame_is_of_runtime("/[javascript]", "/usr/lib/libnode.so.108"));
    assert_true(hs_frame_is_of_runtime("[java]", "/usr/lib/jvm/x/lib/server/libjvm.so"));
    assert_false(hs_frame_is_of_runtime("[java]", "/usr/bin/python3"));
    assert_false(hs_frame_is_of_runtime("[python]", "/home/u/python_app.so"));
    assert_false(hs_frame_is_of_runtime("[lua]", "/usr/bin/lua"));
    assert_true(hs_frame_is_of_script_library("[javascript]", "f", "node:internal/fs"));
    assert_false(hs_frame_is_of_script_library("[javascript]", "f", "/home/node:x/a.js"));
    assert_true(hs_frame_is_of_script_library("[java]", "java.util.HashMap.put", ""));
    assert_false(hs_frame_is_of_script_library("[java]", "javafoo.Main.main", "java.x"));
    assert_true(hs_frame_is_of_script_library("[python]", "f", "<frozen importlib._bootstrap>"));
    assert_false(hs_frame_is_of_script_library("[python]", "f",
                                               "/opt/lib/python3.12/site-packages/numpy/core.py"));
    assert_true(hs_frame_is_of_script_library("[ruby]", "f", "/usr/lib/ruby/3.1.0/set.rb"));
    assert_false(hs_frame_is_of_script_library("[perl]", "f", "/home/u/app.pl"));
    /* Functions that a runtime brings have no file. */
    assert_true(hs_frame_is_of_script_library("[php]", "json_encode", ""));
    assert_true(hs_frame_is_of_script_library("[javascript]", "map", ""));
    assert_false(hs_frame_is_of_script_library("[javascript]", "eval", ""));
    assert_false(hs_frame_is_of_script_library("[java]", "Main.main", ""));
    assert_false(hs_frame_is_of_script_library("[perl]", "main::f", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_script),
        cmocka_unit_test(test_extension),
        cmocka_unit_test(test_without_script),
        cmocka_unit_test(test_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
