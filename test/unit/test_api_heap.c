/* Heaps of the library (api_heap.c): names, limits, order of calls, and what the table then
 * says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api_fixture.h"

#include <heapscope/heap_profile.h>
#include <heapscope/heapscope.h>

/* The loader runs the library's constructor before main. */
static struct hs_api_v1 *found_table;

void heapscope_api_found_v1(struct hs_api_v1 *table);
void heapscope_api_found_v1(struct hs_api_v1 *table)
{
    found_table = table;
}

static void test_a_client_hears_of_the_library(void **state)
{
    (void)state;
    assert_ptr_equal(found_table, &hs_heap_table);
    assert_int_equal(hs_heap_table.magic, HS_API_MAGIC);
    assert_memory_equal(&hs_heap_table, "HSAPI001", 8);
    assert_int_equal(hs_heap_table.version, HS_API_VERSION);
    assert_int_equal(hs_heap_table.table_bytes, sizeof(hs_heap_table));
}

static void test_names(void **state)
{
    char name[HS_API_NAME_BYTES + 1];
    (void)state;
    memset(name, 'x', sizeof(name));
    name[HS_API_NAME_BYTES] = '\0';
    errno = 0;
    assert_null(heapscope_heap_create(name)); /* 64 characters */
    assert_int_equal(errno, ENAMETOOLONG);
    assert_null(AHeapInfo_create(name));
    assert_null(heapscope_heap_create(""));
    assert_int_equal(errno, EINVAL);
    assert_null(heapscope_heap_create(NULL));
    assert_null(AHeapInfo_create(""));
    assert_null(AHeapInfo_create(NULL));
    assert_int_equal(hs_heap_table.heap_count, 1); /* a refused name takes no slot */
    name[HS_API_NAME_BYTES - 1] = '\0';
    errno = EIO;
    heapscope_heap *heap = heapscope_heap_create(name); /* 63 bytes */
    assert_non_null(heap);
    assert_int_equal(errno, EIO);
    assert_string_equal(hs_heap_table.heaps[1].name, name);
    assert_int_equal(hs_heap_table.heaps[1].flags, 0);
    assert_int_equal(heapscope_heap_register(heap), 1);
    assert_int_equal(hs_heap_table.heaps[1].flags, HS_API_HEAP_REGISTERED);
    assert_int_equal(heapscope_heap_register(heap), 1); /* again: the same */
    assert_int_equal(hs_heap_table.heap_count, 2);
}

static void test_what_is_no_heap(void **state)
{
    char other[sizeof(struct hs_api_heap_v1)] = "name";
    heapscope_heap *wrong[] = {
        NULL,
        (heapscope_heap *)other,
        (heapscope_heap *)&hs_heap_table.heaps[0],
        (heapscope_heap *)((char *)&hs_heap_table.heaps[1] + 8),
        (heapscope_heap *)&hs_heap_table.heaps[hs_heap_table.heap_count], /* not handed out */
        (heapscope_heap *)&hs_heap_table.heaps[200],
        (heapscope_heap *)&hs_heap_table.heaps[HS_API_HEAPS],
    };
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        print_message("  %zu\n", i);
        assert_int_equal(heapscope_heap_register(wrong[i]), 0);
        assert_int_equal(AHeapProfile_registerHeap(wrong[i]), 0);
        assert_int_equal(heapscope_heap_set_primary(wrong[i], true), -EINVAL);
        assert_int_equal(heapscope_heap_set_parent(wrong[i], 0), -EINVAL);
        assert_int_equal(heapscope_heap_set_callbacks(wrong[i], NULL, NULL, NULL), -EINVAL);
        assert_null(AHeapInfo_setEnabledCallback(wrong[i], NULL, NULL));
        assert_null(AHeapInfo_setDisabledCallback(wrong[i], NULL, NULL));
    }
}

static void test_where_the_memory_lies(void **state)
{
    (void)state;
    heapscope_heap *outer = heapscope_heap_create("outer");
    assert_int_equal(heapscope_heap_set_primary(outer, true), 0);
    uint32_t outer_id = heapscope_heap_register(outer);
    assert_int_equal(hs_heap_table.heaps[outer_id].flags,
                     HS_API_HEAP_REGISTERED | HS_API_HEAP_PRIMARY);

    heapscope_heap *inner = heapscope_heap_create("inner");
    uint32_t inner_id = outer_id + 1;
    assert_int_equal(heapscope_heap_set_parent(inner, inner_id), -EINVAL); /* itself */
    assert_int_equal(heapscope_heap_set_parent(inner, 250), -EINVAL);
    assert_int_equal(heapscope_heap_set_parent(inner, 256), -EINVAL);
    assert_int_equal(heapscope_heap_set_parent(inner, UINT32_MAX), -EINVAL);
    assert_int_equal(heapscope_heap_set_parent(inner, outer_id), 0);
    assert_int_equal(hs_heap_table.heaps[inner_id].parent, outer_id);
    /* The later setting counts. */
    assert_int_equal(heapscope_heap_set_primary(inner, true), 0);
    assert_int_equal(hs_heap_table.heaps[inner_id].parent, 0);
    assert_int_equal(hs_heap_table.heaps[inner_id].flags, HS_API_HEAP_PRIMARY);
    assert_int_equal(heapscope_heap_set_parent(inner, outer_id), 0);
    assert_int_equal(hs_heap_table.heaps[inner_id].flags, 0);
    assert_int_equal(heapscope_heap_set_parent(inner, 0), 0);
    assert_int_equal(hs_heap_table.heaps[inner_id].parent, 0);
    assert_int_equal(heapscope_heap_set_parent(inner, outer_id), 0);
    assert_int_equal(heapscope_heap_set_primary(inner, false), 0);
    assert_int_equal(hs_heap_table.heaps[inner_id].flags, 0);
    assert_int_equal(hs_heap_table.heaps[inner_id].parent, outer_id);

    assert_int_equal(heapscope_heap_register(inner), inner_id);
    assert_int_equal(heapscope_heap_set_primary(inner, true), -EBUSY);
    assert_int_equal(heapscope_heap_set_parent(inner, 0), -EBUSY);
    assert_int_equal(heapscope_heap_set_callbacks(inner, NULL, NULL, NULL), -EBUSY);
    assert_null(AHeapInfo_setEnabledCallback(inner, NULL, NULL));
    assert_null(AHeapInfo_setDisabledCallback(inner, NULL, NULL));
    assert_int_equal(hs_heap_table.heaps[inner_id].parent, outer_id);
    assert_int_equal(hs_heap_table.heaps[inner_id].flags, HS_API_HEAP_REGISTERED);
}

static void test_registering_tells_the_client(void **state)
{
    (void)state;
    uint32_t before = heapscope_heap_register(heapscope_heap_create("before"));
    assert_int_equal(hs_heap_table.quiet, 0); /* no client: nothing changes */
    client_appear(false);
    assert_int_equal(hs_heap_table.quiet, client_generation);
    assert_int_equal(hs_heap_table.heaps[before].client_heap, CLIENT_HEAP_BASE + before);
    heapscope_heap *heap = heapscope_heap_create("after");
    assert_int_equal(client_poll_count, 0);
    client_names_heaps = false; /* it looks at the heaps, and does not know what to do yet */
    uint32_t after = AHeapProfile_registerHeap(heap);
    assert_int_equal(client_poll_count, 1);
    assert_int_equal(client_quiet_at_poll, HS_API_NEVER_QUIET);
    assert_int_equal(hs_heap_table.quiet, client_generation);
    assert_int_equal(hs_heap_table.heaps[after].client_heap, 0);
    assert_int_equal(AHeapProfile_registerHeap(heap), after);
    assert_int_equal(client_poll_count, 1);
}

/* The last test: it takes all slots. */
static void test_as_many_as_there_are(void **state)
{
    char name[32];
    (void)state;
    uint32_t first = hs_heap_table.heap_count;
    for (uint32_t id = first; id < HS_API_HEAPS; id++) {
        snprintf(name, sizeof(name), "heap %u", id);
        AHeapInfo *info = AHeapInfo_create(name);
        assert_non_null(info);
        if (id % 2 == 0) { /* the others take a slot as well */
            assert_int_equal(AHeapProfile_registerHeap(info), id);
        }
    }
    assert_null(AHeapInfo_create("one too many"));
    errno = 0;
    assert_null(heapscope_heap_create("one too many"));
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(hs_heap_table.heap_count, HS_API_HEAPS);
    assert_string_equal(hs_heap_table.heaps[HS_API_HEAPS - 1].name, "heap 255");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_client_hears_of_the_library),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_what_is_no_heap),
        cmocka_unit_test(test_where_the_memory_lies),
        cmocka_unit_test_setup(test_registering_tells_the_client, client_vanish),
        cmocka_unit_test_setup(test_as_many_as_there_are, client_vanish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
