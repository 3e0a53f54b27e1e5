/*
 * watch_events.h: what an event contains, and that nothing is sent twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/ui/watch_events.h"

static char app[] = "/opt/app", marker[] = "";
static struct hs_snap_module modules[] = { { .path = marker }, { .path = app } };
static struct hs_snap_frame frames[] = {
    { .rel_pc = 0x10, .module_id = 1 },
    { .rel_pc = 0x20, .module_id = 1 },
    { .pc = HS_FRAME_PC_CUT, .flags = HS_FRAME_MARKER },
    { .pc = 0, .flags = HS_FRAME_NAMED },
};
static struct hs_snap_code_name code_names[] = { { .function = "</script>\x01\xff",
                                                   .file = "/srv/a.x" } };
static const uint32_t first[] = { 0, 1 }, second[] = { 3, 2, 1 };
static struct hs_snap_stack stacks[] = {
    { .frame_ids = first, .frame_count = 2, .live = { .bytes = 100, .count = 2 } },
    { .frame_ids = second, .frame_count = 3, .heap_id = 1, .alloc = { .bytes = 1e15, .count = 1 } },
};
static struct hs_snap_heap heaps[] = { { .name = "libc.malloc" }, { .name = "po\"ol" } };
static struct hs_snapshot snap = { .pid = 7,
                                   .comm = "app",
                                   .modules = modules,
                                   .module_count = 2,
                                   .frames = frames,
                                   .frame_count = 4,
                                   .code_names = code_names,
                                   .code_name_count = 1,
                                   .stacks = stacks,
                                   .stack_count = 2,
                                   .heaps = heaps,
                                   .heap_count = 2,
                                   .start_mono_ns = 1000000,
                                   .time_mono_ns = 3500000 };

static struct hs_watch_events events;
static struct hs_watch_names names;
static uint32_t changed[2];

/* The next event, about these stacks. */
static const char *event(size_t changed_count, bool has_names)
{
    static struct hs_buf out;
    struct hs_watch_state state = {
        .snap = &snap, .number = 3, .changed = changed, .changed_count = changed_count
    };
    hs_buf_deinit(&out);
    hs_buf_init(&out, NULL, NULL);
    assert_int_equal(hs_watch_events_write(&events, &state, &names, has_names, &out), 0);
    const char *text = hs_buf_text(&out);
    size_t bytes = strlen(text);
    assert_int_equal(strncmp(text, "event: update\ndata: {", 21), 0);
    assert_string_equal(text + bytes - 3, "}\n\n");
    assert_null(memchr(text + 21, '\n', bytes - 21 - 2));
    return text;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("no %s in %s", part, text);
    }
}

static void new_rows(void **state)
{
    (void)state;
    changed[0] = 0;
    const char *text = event(1, false);
    assert_has(text, "\"time_ms\":2.5,");
    assert_has(text,
               "\"frames\":{\"id\":[0,1],\"function\":[0,1],\"module\":[2,2],\"class\":[0,0]}");
    assert_has(text, "\"nodes\":{\"caller\":[0,1],\"frame\":[1,0]}");
    assert_has(text, "\"stacks\":{\"id\":[0],\"heap\":[0],\"node\":[2]}");
    assert_has(text, "\"rows\":{\"stack\":[0],\"live_bytes\":[100],\"live_count\":[2],"
                     "\"alloc_bytes\":[0],\"alloc_count\":[0]}");
    assert_has(text, "\"strings\":[\"app+0x10\",\"app+0x20\",\"/opt/app\"]");
    assert_has(text, "\"name\":\"po\\\"ol\"");
    /* The same row again, and a stack that shares a frame. */
    changed[0] = 1;
    changed[1] = 0;
    text = event(2, false);
    assert_has(text,
               "\"frames\":{\"id\":[3,2],\"function\":[3,4],\"module\":[5,6],\"class\":[0,5]}");
    assert_has(text, "\"nodes\":{\"caller\":[1,3],\"frame\":[2,3]}");
    assert_has(text, "\"stacks\":{\"id\":[1],\"heap\":[1],\"node\":[4]}");
    assert_has(text, "\"alloc_bytes\":[1e+15,0]");
    assert_has(text,
               "\"strings\":[\"</script>\\u0001\\ufffd (a.x)\",\"[stack cut]\",\"/srv/a.x\",\"\"]");
    text = event(0, false);
    assert_has(text, "\"frames\":{\"id\":[],");
    assert_has(text, "\"strings\":[]");
}

/* Two new stacks with the same outer call, in one event. */
static void shared_calls(void **state)
{
    (void)state;
    hs_watch_events_deinit(&events);
    changed[0] = 0;
    changed[1] = 1;
    const char *text = event(2, false);
    assert_has(text, "\"nodes\":{\"caller\":[0,1,1,3],\"frame\":[1,0,2,3]}");
    assert_has(text, "\"stacks\":{\"id\":[0,1],\"heap\":[0,1],\"node\":[2,4]}");
    text = event(2, false);
    assert_has(text, "\"nodes\":{\"caller\":[],\"frame\":[]}");
}

/* A name that is found later is sent for the frames that were sent. */
static void late_names(void **state)
{
    (void)state;
    static char mangled[] = "_ZN3foo3barEv";
    static struct hs_watch_name list[4] = { { .function = NULL } };
    list[1].function = mangled;
    names.list = list;
    names.count = 4;
    assert_has(event(0, false), "\"frames\":{\"id\":[],");
    const char *text = event(0, true);
    assert_has(text, "\"frames\":{\"id\":[1],\"function\":[7],\"module\":[2],\"class\":[0]}");
    assert_has(text, "\"strings\":[\"foo::bar()\"]");
    assert_has(event(0, true), "\"frames\":{\"id\":[],");
}

/* The first Python function makes functions of the interpreter, which were sent, its runtime. */
static void classes(void **state)
{
    (void)state;
    static char python[] = "/usr/bin/python3.11", libc[] = "/lib/libc.so.6";
    static char function[] = "load", library_file[] = "/usr/lib/python3.11/json/decoder.py";
    static char malloc_name[] = "malloc", make[] = "dict_new";
    struct hs_snap_module own_modules[] = { { .path = marker },
                                            { .path = python },
                                            { .path = libc } };
    struct hs_snap_frame own_frames[] = { { .rel_pc = 1, .module_id = 2 },
                                          { .rel_pc = 2, .module_id = 1 },
                                          { .pc = 0, .flags = HS_FRAME_NAMED },
                                          { .pc = 1, .flags = HS_FRAME_NAMED } };
    struct hs_snap_code_name own_names[] = {
        { .function = function, .file = "/srv/a.py", .language = HS_LANGUAGE_PYTHON },
        { .function = function, .file = library_file, .language = HS_LANGUAGE_PYTHON },
    };
    const uint32_t native[] = { 0, 1 }, script[] = { 0, 1, 2, 3 };
    struct hs_snap_stack own_stacks[] = { { .frame_ids = native, .frame_count = 2 },
                                          { .frame_ids = script, .frame_count = 4 } };
    struct hs_watch_name list[4] = { { .function = malloc_name }, { .function = make } };
    const struct hs_snapshot kept = snap;
    snap.modules = own_modules;
    snap.module_count = 3;
    snap.frames = own_frames;
    snap.code_names = own_names;
    snap.code_name_count = 2;
    snap.stacks = own_stacks;
    names.list = list;
    hs_watch_events_deinit(&events);
    changed[0] = 0;
    assert_has(event(1, false), "\"class\":[3,0]}");
    changed[0] = 1;
    const char *text = event(1, false);
    assert_has(text, "\"frames\":{\"id\":[1,2,3],");
    assert_has(text, "\"class\":[2,0,1]}");
    assert_has(event(1, true), "\"frames\":{\"id\":[],");
    snap = kept;
    names = (struct hs_watch_names){ .list = NULL };
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_rows),
        cmocka_unit_test(late_names),
        cmocka_unit_test(classes),
        cmocka_unit_test(shared_calls),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    hs_watch_events_deinit(&events);
    return failed;
}
