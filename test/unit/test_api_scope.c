/* Scopes in the library: the stack of a thread, names and their limits, and what a client is
 * told. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api_fixture.h"

#include <heapscope/heapscope.h>

#define THREADS 4U
#define NAMES   3000U

static unsigned note_count;

static void note(void)
{
    note_count++;
}

static const struct hs_api_calls_v1 calls = { .version = HS_API_VERSION,
                                              .bytes = sizeof(calls),
                                              .note_scopes = note };
/* An older client. */
static const struct hs_api_calls_v1 old_calls = {
    .version = HS_API_VERSION, .bytes = offsetof(struct hs_api_calls_v1, note_scopes)
};

static struct hs_api_scopes_v1 *own(void)
{
    return hs_heap_table.scopes();
}

static const char *text_of(uint32_t id)
{
    const struct hs_api_scope_names_v1 *names = hs_heap_table.scope_names;
    return names->text + names->names[id].text_off;
}

static int tear_down(void **state)
{
    (void)state;
    heapscope_scope_end_to(0);
    hs_heap_table.calls = NULL;
    return 0;
}

static void test_push_and_pop(void **state)
{
    (void)state;
    assert_int_equal(heapscope_scope_begin("a"), 0);
    assert_int_equal(heapscope_label_begin("key", "value"), 1);
    assert_int_equal(heapscope_scope_enter(heapscope_scope_name("c")), 2);
    assert_int_equal(heapscope_scope_depth(), 3);
    assert_int_equal(own()->depth, 3);
    assert_string_equal(text_of(own()->ids[0]), "a");
    assert_string_equal(text_of(own()->ids[1]), "key=value");
    assert_string_equal(text_of(own()->ids[2]), "c");
    heapscope_scope_end();
    assert_int_equal((heapscope_scope_begin)("d"), 2);
    assert_string_equal(text_of(own()->ids[2]), "d");
    heapscope_scope_end_to(1);
    assert_int_equal(heapscope_scope_depth(), 1);
    heapscope_scope_end_to(5); /* no more than that are open */
    assert_int_equal(heapscope_scope_depth(), 1);
}

/* The functions do what the inline ones do. */
static void test_functions(void **state)
{
    (void)state;
    (heapscope_scope_end)();
    assert_int_equal((heapscope_scope_begin)("a"), 0);
    assert_int_equal((heapscope_scope_enter)(heapscope_scope_name("b")), 1);
    assert_int_equal(heapscope_scope_enter(heapscope_scope_name("c")), 2);
    assert_string_equal(text_of(own()->ids[0]), "a");
    assert_string_equal(text_of(own()->ids[1]), "b");
    (heapscope_scope_end)();
    assert_int_equal(heapscope_scope_depth(), 2);
    (heapscope_scope_end_to)(3);
    assert_int_equal(heapscope_scope_depth(), 2);
    (heapscope_scope_end_to)(0);
    assert_int_equal(heapscope_scope_depth(), 0);
}

static void test_ends_on_an_empty_stack(void **state)
{
    (void)state;
    heapscope_scope_end();
    (heapscope_scope_end)();
    assert_int_equal(heapscope_scope_depth(), 0);
    assert_int_equal(heapscope_scope_begin("after"), 0);
    assert_string_equal(text_of(own()->ids[0]), "after");
}

static void test_too_deep(void **state)
{
    (void)state;
    char name[16];
    for (uint32_t i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "level %u", i);
        assert_int_equal(heapscope_scope_begin(name), i);
    }
    assert_int_equal(heapscope_scope_depth(), 200);
    for (uint32_t i = 0; i < HEAPSCOPE_SCOPE_DEPTH; i++) {
        snprintf(name, sizeof(name), "level %u", i);
        assert_string_equal(text_of(own()->ids[i]), name);
    }
    /* What lies behind the elements is not touched. */
    uint32_t behind = own()->ids[HEAPSCOPE_SCOPE_DEPTH], id = own()->ids[0];
    assert_int_not_equal(id, behind);
    heapscope_scope_end_to(HEAPSCOPE_SCOPE_DEPTH);
    heapscope_scope_enter(id);
    assert_int_equal(own()->ids[HEAPSCOPE_SCOPE_DEPTH], behind);
    heapscope_scope_end_to(HEAPSCOPE_SCOPE_DEPTH);
    (heapscope_scope_enter)(id);
    assert_int_equal(own()->ids[HEAPSCOPE_SCOPE_DEPTH], behind);
    while (heapscope_scope_depth() < 200) {
        heapscope_scope_enter(id);
    }
    for (uint32_t i = 200; i > 100; i--) {
        heapscope_scope_end();
    }
    assert_int_equal(heapscope_scope_begin("again"), 100);
    assert_string_equal(text_of(own()->ids[100]), "again");
    assert_string_equal(text_of(own()->ids[99]), "level 99");
}

static void leave(void)
{
    HEAPSCOPE_SCOPE("macro");
    HEAPSCOPE_LABEL("label", "by macro");
    assert_string_equal(text_of(own()->ids[1]), "macro");
    assert_string_equal(text_of(own()->ids[2]), "label=by macro");
    heapscope_scope_begin("left open");
    assert_int_equal(heapscope_scope_depth(), 4);
}

static void test_end_of_a_block(void **state)
{
    (void)state;
    heapscope_scope_begin("outer");
    leave();
    assert_int_equal(heapscope_scope_depth(), 1);
}

/* A name is that of the text at the time of the begin, wherever that lies. */
static void test_copied_names(void **state)
{
    (void)state;
    char name[300] = "first";
    heapscope_scope_begin(name);
    strcpy(name, "second");
    heapscope_scope_begin(name);
    heapscope_scope_begin(name);
    strcpy(name, "first");
    heapscope_scope_begin(name);
    memset(name, 'x', sizeof(name) - 1);
    heapscope_scope_begin(name);
    const char *const wanted[] = { "first", "second", "second", "first" };
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(text_of(own()->ids[i]), wanted[i]);
    }
    assert_int_equal(own()->ids[0], own()->ids[3]);
    assert_int_equal(strlen(text_of(own()->ids[4])), HEAPSCOPE_SCOPE_NAME_BYTES - 1);
}

static void test_what_is_no_name(void **state)
{
    (void)state;
    assert_int_equal(heapscope_scope_name(NULL), 0);
    assert_int_equal(heapscope_scope_name(""), 0);
    assert_int_equal(heapscope_label_name(NULL, "value"), 0);
    assert_int_equal(heapscope_label_name("", "value"), 0);
    assert_string_equal(text_of(heapscope_label_name("key", NULL)), "key=");
    heapscope_scope_begin(NULL);
    heapscope_scope_begin("");
    assert_int_equal(heapscope_scope_depth(), 2);
    assert_int_equal(own()->ids[0], 0);
    assert_int_equal(own()->ids[1], 0);
}

static void test_labels(void **state)
{
    (void)state;
    assert_int_equal(heapscope_label_name("k", "v"), heapscope_scope_name("k=v"));
    /* The first '=' ends the key, so the key has none. */
    assert_string_equal(text_of(heapscope_label_name("a=b", "c=d")), "a_b=c=d");
    char longest[600];
    memset(longest, 'k', sizeof(longest));
    longest[599] = '\0';
    const char *text = text_of(heapscope_label_name(longest, "value"));
    assert_int_equal(strlen(text), HEAPSCOPE_SCOPE_NAME_BYTES - 1);
    assert_int_equal(text[HEAPSCOPE_SCOPE_NAME_BYTES - 2], '=');
    text = text_of(heapscope_label_name("key", longest));
    assert_int_equal(strlen(text), HEAPSCOPE_SCOPE_NAME_BYTES - 1);
}

/* The texts at two addresses are compared at each use: the program may change them. */
static void test_labels_that_change(void **state)
{
    (void)state;
    char key[8] = "a", value[8] = "1";
    static const struct {
        const char *key, *value, *text;
    } rows[] = {
        { "a", "1", "a=1" },     { "a", "1", "a=1" },     { "a", "2", "a=2" },
        { "b", "2", "b=2" },     { "b", "21", "b=21" },   { "b", "2", "b=2" },
        { "b=2", "2", "b_2=2" }, { "b=2", "2", "b_2=2" }, { "b", "", "b=" },
        { "b", "", "b=" },       { "ba", "", "ba=" },
    };
    for (size_t i = 0; i < HS_COUNT_OF(rows); i++) {
        strcpy(key, rows[i].key);
        strcpy(value, rows[i].value);
        heapscope_label_begin(key, value);
        assert_string_equal(text_of(own()->ids[0]), rows[i].text);
        heapscope_scope_end();
    }
    key[0] = '\0';
    for (int i = 0; i < 2; i++) {
        heapscope_label_begin(key, value); /* no key: no name */
        assert_int_equal(own()->ids[0], 0);
        heapscope_scope_end();
    }
    for (int i = 0; i < 2; i++) {
        heapscope_label_begin("only a key", NULL);
        assert_string_equal(text_of(own()->ids[0]), "only a key=");
        heapscope_scope_end();
    }
}

/* A name that is too long ends between characters. */
static void test_cut_between_characters(void **state)
{
    (void)state;
    char text[400] = "x";
    for (size_t i = 1; i + 2 < sizeof(text); i += 2) {
        memcpy(text + i, "\xc3\xa4", 3);
    }
    assert_int_equal(strlen(text_of(heapscope_scope_name(text))), 255);
    memmove(text + 1, text, 300);
    assert_int_equal(strlen(text_of(heapscope_scope_name(text))), 254);
}

/* The library tells a client of a thread's first scope, and again after the client has found the
 * stack empty. */
static void test_what_a_client_is_told(void **state)
{
    (void)state;
    own()->room = 0;
    hs_heap_table.calls = &old_calls;
    heapscope_scope_begin("an older client");
    heapscope_scope_end();
    own()->room = 0;
    note_count = 0;
    hs_heap_table.calls = &calls;
    heapscope_scope_begin("told");
    assert_int_equal(note_count, 1);
    heapscope_scope_begin("not again");
    heapscope_scope_end_to(0);
    heapscope_scope_begin("not again");
    assert_int_equal(note_count, 1);
    heapscope_scope_end();
    own()->room = 0;
    heapscope_scope_begin("again");
    assert_int_equal(note_count, 2);
    assert_string_equal(text_of(own()->ids[0]), "again");
}

static void *use_scopes(void *arg)
{
    uint32_t *ids = arg;
    assert_int_equal(heapscope_scope_depth(), 0);
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "of threads %u", i);
        assert_int_equal(heapscope_scope_begin(name), 0);
        ids[i] = own()->ids[0];
        assert_string_equal(text_of(ids[i]), name);
        heapscope_scope_end();
    }
    heapscope_scope_begin("left open by a thread");
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    static uint32_t ids[THREADS][NAMES];
    pthread_t threads[THREADS];
    heapscope_scope_begin("main thread");
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_scopes, ids[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_memory_equal(ids[0], ids[1], sizeof(ids[0]));
    assert_memory_equal(ids[0], ids[THREADS - 1], sizeof(ids[0]));
    assert_int_equal(heapscope_scope_depth(), 1);
    assert_string_equal(text_of(own()->ids[0]), "main thread");
}

static void test_fork(void **state)
{
    (void)state;
    heapscope_scope_begin("before the fork");
    pid_t pid = fork();
    if (pid == 0) {
        bool is_same =
            heapscope_scope_depth() == 1 && strcmp(text_of(own()->ids[0]), "before the fork") == 0;
        heapscope_scope_begin("child");
        _exit(is_same && strcmp(text_of(own()->ids[1]), "child") == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(heapscope_scope_depth(), 1);
}

/* 10 MB of names: those that have no room are "(other)", and are counted. Last: the table stays
 * full. */
static void test_too_many_names(void **state)
{
    (void)state;
    uint32_t known = heapscope_scope_name("known before");
    char name[220];
    memset(name, 'n', sizeof(name));
    uint64_t lost_count = 0;
    for (uint32_t i = 0; i < 50000; i++) {
        snprintf(name, sizeof(name), "%u", i);
        name[strlen(name)] = '-';
        name[sizeof(name) - 1] = '\0';
        lost_count += heapscope_scope_name(name) == HS_API_SCOPE_OTHER;
    }
    assert_true(lost_count > 20000 && lost_count < 40000);
    assert_int_equal(hs_heap_table.scope_names->lost_count, lost_count);
    assert_string_equal(text_of(HS_API_SCOPE_OTHER), "(other)");
    assert_int_equal(heapscope_scope_name("known before"), known);
    heapscope_scope_begin(name);
    assert_int_equal(own()->ids[0], HS_API_SCOPE_OTHER);
    heapscope_scope_end();
    /* Short names may still have room, until there are too many. */
    for (uint32_t i = 0; i < 2 * HS_API_SCOPE_NAMES; i++) {
        snprintf(name, sizeof(name), "%x", i);
        heapscope_scope_name(name);
    }
    assert_true(hs_heap_table.scope_names->count <= HS_API_SCOPE_NAMES);
    assert_true(hs_heap_table.scope_names->text_bytes <= HS_API_SCOPE_TEXT_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_push_and_pop, tear_down),
        cmocka_unit_test_teardown(test_functions, tear_down),
        cmocka_unit_test_teardown(test_ends_on_an_empty_stack, tear_down),
        cmocka_unit_test_teardown(test_too_deep, tear_down),
        cmocka_unit_test_teardown(test_end_of_a_block, tear_down),
        cmocka_unit_test_teardown(test_copied_names, tear_down),
        cmocka_unit_test_teardown(test_what_is_no_name, tear_down),
        cmocka_unit_test_teardown(test_labels, tear_down),
        cmocka_unit_test_teardown(test_labels_that_change, tear_down),
        cmocka_unit_test_teardown(test_cut_between_characters, tear_down),
        cmocka_unit_test_teardown(test_what_a_client_is_told, tear_down),
        cmocka_unit_test_teardown(test_threads, tear_down),
        cmocka_unit_test_teardown(test_fork, tear_down),
        cmocka_unit_test_teardown(test_too_many_names, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
