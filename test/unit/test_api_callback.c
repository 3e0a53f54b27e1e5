/* Callbacks (api_callback.c): which function is called with what, and when none may be called
 * (code_place.c). */
#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/code_place.h"
#include "api_fixture.h"

#include <heapscope/heap_profile.h>
#include <heapscope/heapscope.h>

static int enabled_count, disabled_count;
static uint64_t told_bytes;

static void on_enabled(void *data, const AHeapProfileEnableCallbackInfo *session)
{
    ++*(int *)data;
    told_bytes = AHeapProfileEnableCallbackInfo_getSamplingInterval(session);
    errno = EIO;
}

static void on_disabled(void *data, const AHeapProfileDisableCallbackInfo *session)
{
    assert_non_null(session);
    ++*(int *)data;
    errno = EIO;
}

static void on_own_enabled(void *data, uint64_t interval_bytes)
{
    ++*(int *)data;
    told_bytes = interval_bytes;
    errno = EIO;
}

static void on_own_disabled(void *data)
{
    ++*(int *)data;
    errno = EIO;
}

static int setup(void **state)
{
    enabled_count = disabled_count = 0;
    told_bytes = 0;
    errno = 0;
    return client_vanish(state);
}

/* A session begins, changes nothing, and ends. */
static void run_sessions(void)
{
    client_appear(false);
    assert_int_equal(enabled_count, 0);
    client_session(true);
    assert_int_equal(heapscope_poll(), 0);
    assert_int_equal(enabled_count, 1);
    assert_int_equal(told_bytes, 4096);
    assert_int_equal(errno, 0);
    assert_int_equal(heapscope_poll(), 0);
    assert_int_equal(enabled_count, 1);
    assert_int_equal(disabled_count, 0);
    client_session(false);
    assert_int_equal(heapscope_poll(), 0);
    assert_int_equal(enabled_count, 1);
    assert_int_equal(disabled_count, 1);
    assert_int_equal(errno, 0);
}

static void test_heapprofd(void **state)
{
    (void)state;
    AHeapInfo *info = AHeapInfo_create("heapprofd's");
    assert_ptr_equal(AHeapInfo_setEnabledCallback(info, on_enabled, &enabled_count), info);
    assert_ptr_equal(AHeapInfo_setDisabledCallback(info, on_disabled, &disabled_count), info);
    uint32_t id = AHeapProfile_registerHeap(info);
    run_sessions();
    /* Both have been taken back for the other tests. */
    hs_heap_table.heaps[id].on_enabled = hs_heap_table.heaps[id].on_disabled = NULL;
    assert_int_equal(AHeapProfileEnableCallbackInfo_getSamplingInterval(NULL), 0);
}

static void test_own(void **state)
{
    int other_count = 0;
    (void)state;
    heapscope_heap *heap = heapscope_heap_create("own");
    assert_int_equal(
        heapscope_heap_set_callbacks(heap, on_own_enabled, on_own_disabled, &other_count), 0);
    /* Before the heap is registered, callbacks can be replaced. */
    assert_int_equal(heapscope_heap_set_callbacks(heap, on_own_enabled, NULL, &enabled_count), 0);
    uint32_t id = hs_heap_table.heap_count - 1;
    assert_null(hs_heap_table.heaps[id].on_disabled);
    assert_int_equal(heapscope_heap_set_callbacks(heap, NULL, on_own_disabled, &disabled_count), 0);
    assert_null(hs_heap_table.heaps[id].on_enabled);
    assert_non_null(AHeapInfo_setEnabledCallback(heap, on_enabled, &enabled_count));
    assert_int_equal(heapscope_heap_register(heap), id);
    run_sessions();
    assert_int_equal(other_count, 0);
    hs_heap_table.heaps[id].on_enabled = hs_heap_table.heaps[id].on_disabled = NULL;
}

/* A callback may use the library: here, it registers a heap and reports to it. */
static void on_enabled_registers(void *data, uint64_t interval_bytes)
{
    on_own_enabled(data, interval_bytes);
    uint32_t heap = heapscope_heap_register(heapscope_heap_create("made by a callback"));
    heapscope_report_alloc(heap, 1, 2);
}

static void test_a_callback_may_use_the_library(void **state)
{
    (void)state;
    heapscope_heap *heap = heapscope_heap_create("registers");
    heapscope_heap_set_callbacks(heap, on_enabled_registers, on_own_disabled, &enabled_count);
    client_appear(true);
    uint32_t id = heapscope_heap_register(heap);
    assert_int_equal(enabled_count, 1);
    assert_int_equal(client_report_count, 1);
    assert_int_equal(client_reports[0].heap, hs_heap_table.heap_count - 1);
    hs_heap_table.heaps[id].on_enabled = hs_heap_table.heaps[id].on_disabled = NULL;
}

static void test_not_in_a_child(void **state)
{
    (void)state;
    heapscope_heap *heap = heapscope_heap_create("inherited");
    heapscope_heap_set_callbacks(heap, on_own_enabled, NULL, &enabled_count);
    uint32_t id = heapscope_heap_register(heap);
    pid_t child = fork();
    if (child == 0) {
        client_appear(true);
        int inherited_count = enabled_count;
        heap = heapscope_heap_create("its own"); /* a daemon that forks first has heaps too */
        heapscope_heap_set_callbacks(heap, on_own_enabled, NULL, &enabled_count);
        heapscope_heap_register(heap);
        int own_count = enabled_count - inherited_count;
        hs_heap_table.is_child = 1;
        client_session(false);
        heapscope_poll();
        client_session(true);
        heapscope_poll();
        _exit(inherited_count == 0 && own_count == 1 && enabled_count == 1 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    client_appear(true);
    assert_int_equal(enabled_count, 1);
    hs_heap_table.heaps[id].on_enabled = NULL;
}

/* A library under a name of its own, so that no other test keeps it loaded. */
static void copy_file(const char *from, int to)
{
    int source = open(from, O_RDONLY | O_CLOEXEC);
    assert_true(source >= 0);
    while (sendfile(to, source, NULL, 1 << 20) > 0) {
    }
    close(source);
}

static void test_unloaded_code(void **state)
{
    char path[] = "/tmp/heapscope-plugin-XXXXXX";
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    copy_file(PLUGIN_ONE, file);
    close(file);
    void *plugin = dlopen(path, RTLD_NOW);
    assert_non_null(plugin);
    void (*function)(void *, uint64_t) = dlsym(plugin, "plugin_on_enabled");
    heapscope_heap *heap = heapscope_heap_create("plugin");
    assert_int_equal(heapscope_heap_set_callbacks(heap, function, NULL, &enabled_count), 0);
    uint32_t id = heapscope_heap_register(heap);
    client_appear(true);
    assert_int_equal(enabled_count, 1);
    client_session(false);
    heapscope_poll();
    dlclose(plugin);
    assert_null(dlopen(path, RTLD_NOW | RTLD_NOLOAD));
    client_session(true);
    heapscope_poll(); /* would be a jump to unmapped memory */
    assert_int_equal(enabled_count, 1);
    hs_heap_table.heaps[id].on_enabled = NULL;
    unlink(path);
}

/* Maps `file` over the place where another library was. */
static void map_at(const char *file, uintptr_t va)
{
    FILE *stream = fopen(file, "r");
    assert_non_null(stream);
    void *mapped = mmap((void *)va, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fileno(stream), 0);
    assert_ptr_equal(mapped, (void *)va);
    fclose(stream);
}

static void test_code_of_another_library(void **state)
{
    (void)state;
    void *plugin = dlopen(PLUGIN_ONE, RTLD_NOW);
    assert_non_null(plugin);
    void (*function)(void) = dlsym(plugin, "plugin_on_enabled");
    struct hs_code_place place = hs_code_place_of(function);
    assert_int_equal(place.code_va, (uintptr_t)function);
    assert_true(hs_code_place_is_same(&place));
    dlclose(plugin);
    assert_false(hs_code_place_is_same(&place)); /* unmapped */
    /* Another version of the library, with everything at the same place, and then the same. */
    void *memory = mmap((void *)(place.code_va & ~(uintptr_t)4095), 4096, PROT_READ,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    map_at(PLUGIN_TWO, place.object_va);
    assert_false(hs_code_place_is_same(&place));
    map_at(PLUGIN_ONE, place.object_va);
    assert_true(hs_code_place_is_same(&place));
    munmap(memory, 4096);
    assert_false(hs_code_place_is_same(&place)); /* the head without the code */
    munmap((void *)place.object_va, 4096);
    assert_false(hs_code_place_is_same(&place));
}

static void test_code_in_no_library(void **state)
{
    (void)state;
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    struct hs_code_place place = hs_code_place_of((void (*)(void))memory);
    assert_int_equal(place.object_va, 0);
    assert_true(hs_code_place_is_same(&place)); /* generated code */
    munmap(memory, 4096);
    place = hs_code_place_of((void (*)(void))on_own_enabled);
    assert_int_not_equal(place.object_va, 0);
    assert_true(hs_code_place_is_same(&place));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_heapprofd, setup),
        cmocka_unit_test_setup(test_own, setup),
        cmocka_unit_test_setup(test_a_callback_may_use_the_library, setup),
        cmocka_unit_test_setup(test_not_in_a_child, setup),
        cmocka_unit_test_setup(test_unloaded_code, setup),
        cmocka_unit_test_setup(test_code_of_another_library, setup),
        cmocka_unit_test_setup(test_code_in_no_library, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
