/*
 * Tests of watch/send/watch_update and watch_look, through watch/receive/watch_state: what a viewer
 * has put together is what is in the region.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture_fixture.h"
#include "collect/region/capture.h"
#include "collect/region/record_types.h"
#include "profile/model/profile.h"
#include "watch/receive/watch_profile.h"
#include "watch/receive/watch_state.h"
#include "watch/receive/watched_types.h"
#include "watch/send/watch_update.h"

struct world {
    struct fixture *f;
    struct hs_region region;
    struct hs_watch_look look;
    struct hs_watch_sent sent;
    struct hs_watch_state state;
    uint64_t now_ns;
};

static struct world world;

static int set_up(void **state)
{
    struct fixture *f = capture_fixture_begin(4096);
    *state = f;
    world = (struct world){ .f = f, .now_ns = 1000 };
    f->w.header->sections[HS_SECTION_BLOCKS].count = 1;
    assert_int_equal(hs_watch_state_init(&world.state), 0);
    assert_int_equal(hs_region_open(region_writer_dup(&f->w), f->w.file_bytes, &world.region, NULL),
                     0);
    return 0;
}

static int tear_down(void **state)
{
    hs_watch_state_deinit(&world.state);
    hs_watch_sent_deinit(&world.sent);
    hs_watch_look_deinit(&world.look);
    hs_region_close(&world.region);
    return capture_fixture_tear_down(state);
}

/* A block that the thread has counted. */
static uint32_t birth(uint32_t stack, uint64_t size_bytes)
{
    struct hs_thread_block_v1 *block = region_writer_at(&world.f->w, HS_SECTION_BLOCKS, 0);
    block->sample_count++;
    return player_birth(&world.f->p, stack, size_bytes, 0);
}

static int look(void)
{
    world.now_ns += UINT64_C(1000000000);
    return hs_watch_look(&world.look, &world.region, world.now_ns);
}

/* Sends one update, as bytes. Returns how many rows it has. */
static size_t send_one(bool *ret_has_more)
{
    struct hs_watch_update update;
    assert_int_equal(hs_watch_update_fill(&world.sent, &world.region, &world.look, &update), 0);
    size_t bytes = hs__ctl__update__get_packed_size(&update.message);
    uint8_t *packed = malloc(bytes);
    hs__ctl__update__pack(&update.message, packed);
    Hs__Ctl__Update *arrived = hs__ctl__update__unpack(NULL, bytes, packed);
    assert_non_null(arrived);
    assert_int_equal(hs_watch_state_apply(&world.state, arrived), 0);
    hs__ctl__update__free_unpacked(arrived, NULL);
    free(packed);
    *ret_has_more = update.message.has_more;
    size_t rows = update.row_count;
    hs_watch_update_deinit(&update);
    assert_int_equal(world.state.changed_count, rows);
    assert_int_equal(world.state.has_more, *ret_has_more);
    return rows;
}

/* Sends all updates of a look. */
static size_t send_all(unsigned *ret_updates)
{
    size_t rows = 0;
    bool has_more = true;
    *ret_updates = 0;
    while (has_more) {
        rows += send_one(&has_more);
        (*ret_updates)++;
    }
    return rows;
}

static void assert_equal(const struct hs_estimate *a, const struct hs_estimate *b)
{
    assert_true(a->bytes == b->bytes && a->bytes_var == b->bytes_var);
    assert_true(a->count == b->count && a->count_var == b->count_var);
}

/* Compares what the viewer knows with a snapshot. */
static void assert_as_snapshot(void)
{
    const struct hs_snapshot *seen = world.state.snap;
    struct hs_snapshot *snap = NULL;
    assert_int_equal(hs_capture(&world.region, false, 5000, &snap), 0);
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        const struct hs_snap_stack *stack = &snap->stacks[i];
        if (stack->alloc.bytes == 0) {
            assert_true(i >= seen->stack_count || seen->stacks[i].alloc.bytes == 0);
            continue;
        }
        assert_equal(&seen->stacks[i].live, &stack->live);
        assert_equal(&seen->stacks[i].alloc, &stack->alloc);
        assert_int_equal(seen->stacks[i].frame_count, stack->frame_count);
        for (unsigned k = 0; k < stack->frame_count; k++) {
            const struct hs_snap_frame *a = &seen->frames[seen->stacks[i].frame_ids[k]];
            const struct hs_snap_frame *b = &snap->frames[stack->frame_ids[k]];
            assert_true(a->pc == b->pc && a->rel_pc == b->rel_pc && a->flags == b->flags);
            assert_string_equal(seen->modules[a->module_id].path, snap->modules[b->module_id].path);
        }
    }
    assert_true(seen->live.bytes == snap->live.bytes && seen->live.count == snap->live.count);
    assert_true(seen->alloc.bytes == snap->alloc.bytes);
    hs_snapshot_free(snap);
}

static void test_only_changes_are_sent(void **state)
{
    struct fixture *f = *state;
    unsigned updates;
    birth(f->stack, 10000);
    birth(f->stack + 1, 20000);
    assert_int_equal(look(), 1);
    assert_int_equal(send_all(&updates), 2);
    assert_as_snapshot();
    uint32_t slot = birth(f->stack + 2, 30000);
    birth(f->stack, 1000000);
    assert_int_equal(look(), 1);
    assert_int_equal(send_all(&updates), 2);
    assert_int_equal(updates, 1);
    assert_as_snapshot();
    player_death(&f->p, slot);
    ((struct hs_thread_block_v1 *)region_writer_at(&f->w, HS_SECTION_BLOCKS, 0))->free_count++;
    assert_int_equal(look(), 1);
    assert_int_equal(send_all(&updates), 1);
    assert_as_snapshot();
    assert_int_equal(world.sent.number, 3);
    assert_int_equal(world.state.number, 3);
}

/* A look costs little while nothing moves; but one more is made after the counters stood still, and
 * one from time to time. */
static void test_a_program_that_stands_still(void **state)
{
    struct fixture *f = *state;
    birth(f->stack, 10000);
    assert_int_equal(look(), 1);
    assert_int_equal(look(), 1);
    assert_int_equal(look(), 0);
    player_birth(&f->p, f->stack, 20000, 0); /* not counted */
    assert_int_equal(look(), 0);
    world.now_ns += UINT64_C(20000000000);
    assert_int_equal(look(), 1);
    assert_true(world.look.totals.live.bytes == 30000);
    assert_int_equal(look(), 0);
    birth(f->stack, 10000);
    assert_int_equal(look(), 1);
}

static void test_many_rows_come_in_parts(void **state)
{
    struct fixture *f = *state;
    unsigned updates;
    uint32_t first = region_writer_stacks(&f->w, 50);
    world.sent.rows_max = 7;
    for (uint32_t i = 0; i < 50; i++) {
        birth(first + i, 4096 + i);
    }
    assert_int_equal(look(), 1);
    assert_int_equal(send_all(&updates), 50);
    assert_int_equal(updates, 8);
    assert_as_snapshot();
    birth(first + 3, 5000);
    birth(first + 49, 5000);
    assert_int_equal(look(), 1);
    assert_int_equal(send_all(&updates), 2);
    assert_as_snapshot();
}

/* A frame of an interpreter, a marker, and a heap of the program's own. */
static void test_frames_of_all_kinds(void **state)
{
    struct fixture *f = *state;
    unsigned updates;
    struct hs_profile *profile = NULL;
    uint32_t name = region_writer_code_name(
        &f->w, &(struct hs_code_name_v2){ .hash = 1,
                                          .function_off = region_writer_text(&f->w, "Shop.buy"),
                                          .file_off = region_writer_text(&f->w, "/src/shop.py"),
                                          .line = 7,
                                          .language = HS_LANGUAGE_PYTHON });
    uint32_t frames[] = {
        region_writer_frame(&f->w, name, HS_MODULE_ID_MARKER, HS_FRAME_NAMED),
        region_writer_frame(&f->w, HS_FRAME_PC_END + HS_STACK_END_NO_INFO, HS_MODULE_ID_MARKER,
                            HS_FRAME_MARKER),
    };
    uint32_t id = region_writer_stack(&f->w, frames, 2);
    struct hs_stack_v1 *stack = region_writer_at(&f->w, HS_SECTION_STACKS, id);
    stack->heap_id = region_writer_heap(&f->w, "pool", HS_HEAP_CARVED);
    birth(id, 30000);
    birth(f->stack, 50000);
    assert_int_equal(look(), 1);
    send_all(&updates);
    assert_as_snapshot();
    const struct hs_snapshot *seen = world.state.snap;
    assert_string_equal(seen->heaps[stack->heap_id].name, "pool");
    assert_true(seen->heaps[stack->heap_id].live.bytes == 30000 && seen->live.bytes == 50000);
    const struct hs_snap_frame *frame = &seen->frames[seen->stacks[id].frame_ids[0]];
    assert_string_equal(seen->code_names[frame->pc].function, "Shop.buy");
    assert_int_equal(hs_watch_profile_make(&world.state, NULL, &profile), 0);
    assert_int_equal(profile->dump_count, 1);
    assert_true(profile->dumps[0].live.bytes == 50000);
    hs_profile_free(profile);
}

/* --- types ------------------------------------------------------------------------------------ */

static uint64_t block_hashes[4096];
static uint16_t type_ids[4096];
static uint8_t looks[4096];
static const char *names[] = { "", "Foo", "Bar<int>" };
static const struct hs_record_types types = { .block_hashes = block_hashes,
                                              .type_ids = type_ids,
                                              .looks = looks,
                                              .count = 4096,
                                              .names = names,
                                              .name_count = 3,
                                              .time_mono_ns = 77 };

/* A block whose memory was read; type 0: it has none. */
static uint32_t typed_birth(uint32_t stack, uint64_t size_bytes, uint16_t type_id)
{
    uint32_t slot = birth(stack, size_bytes);
    const struct hs_record_v1 *record = region_writer_at(&world.f->w, HS_SECTION_RECORDS, slot);
    assert_true(slot < 4096);
    block_hashes[slot] =
        hs_record_block_hash(record->addr, record->size_thread, record->stack_id, record->birth_ms);
    type_ids[slot] = type_id;
    looks[slot] = HS_TYPE_LOOK_LAST;
    return slot;
}

/* Live bytes of a type on a stack, as the viewer knows them; 0: there is no such part. */
static double bytes_of(uint32_t stack, const char *name)
{
    double found = 0;
    for (size_t i = 0; i < world.state.part_count; i++) {
        const struct hs_snap_part *part = &world.state.parts[i];
        const char *own = hs_watched_type_name(world.state.snap, part->key.type_id);
        assert_non_null(own);
        found += part->key.stack_id == stack && strcmp(own, name) == 0 ? part->amount.bytes : 0;
    }
    return found;
}

static void begin_types(void)
{
    memset(looks, 0, sizeof(looks));
    world.region.types = &types;
    world.sent.parts.is_wanted = true;
}

static void test_types(void **state)
{
    struct fixture *f = *state;
    unsigned updates;
    begin_types();
    uint32_t foo = typed_birth(f->stack, 10000, 1);
    typed_birth(f->stack, 20000, 2);
    typed_birth(f->stack, 40000, 0);
    birth(f->stack, 80000);
    typed_birth(f->stack + 1, 5000, 1);
    typed_birth(f->stack + 2, 7000, 0);
    assert_int_equal(look(), 1);
    send_all(&updates);
    assert_as_snapshot();
    assert_true(world.state.has_types && world.state.snap->types_time_mono_ns == 77);
    assert_int_equal(world.state.part_count, 4);
    assert_true(bytes_of(f->stack, "Foo") == 10000 && bytes_of(f->stack, "Bar<int>") == 20000);
    assert_true(bytes_of(f->stack, HS_PART_NOT_READ_NAME) == 80000);
    assert_true(bytes_of(f->stack + 1, "Foo") == 5000);
    /* Only what changes is sent; what is gone is said to be gone. */
    player_death(&f->p, foo);
    typed_birth(f->stack + 1, 5000, 1);
    assert_int_equal(look(), 1);
    send_all(&updates);
    assert_int_equal(world.state.changed_part_count, 2);
    assert_int_equal(world.state.part_count, 3);
    assert_true(bytes_of(f->stack, "Foo") == 0 && bytes_of(f->stack + 1, "Foo") == 10000);
}

/* The parts of the snapshot add up to its stacks. */
static void test_parts_of_the_snapshot(void **state)
{
    struct fixture *f = *state;
    struct hs_profile *profile = NULL;
    unsigned updates;
    begin_types();
    typed_birth(f->stack, 10000, 1);
    typed_birth(f->stack, 40000, 0);
    birth(f->stack + 1, 6000);
    assert_int_equal(look(), 1);
    send_all(&updates);
    assert_int_equal(hs_watch_profile_make(&world.state, NULL, &profile), 0);
    const struct hs_profile_dump *dump = &profile->dumps[0];
    double sum = 0, foo = 0, unknown = 0;
    assert_true(dump->has_parts && dump->has_types);
    for (uint32_t i = 0; i < dump->parts_n[HS_PARTS_LIVE]; i++) {
        const struct hs_profile_part *part = &profile->parts[dump->part_first[HS_PARTS_LIVE] + i];
        const char *name = hs_profile_string(profile, part->type);
        sum += part->amount.bytes;
        foo += strcmp(name, "Foo") == 0 ? part->amount.bytes : 0;
        unknown += name[0] == '\0' ? part->amount.bytes : 0;
    }
    assert_true(sum == 56000 && foo == 10000 && unknown == 40000);
    hs_profile_free(profile);
}

static void test_a_given_type(void **state)
{
    struct fixture *f = *state;
    unsigned updates;
    begin_types();
    f->w.header->sections[HS_SECTION_TYPES].count = HS_TYPE_OTHER + 1;
    struct hs_stack_v1 *stack = region_writer_at(&f->w, HS_SECTION_STACKS, f->stack);
    stack->type_id = region_writer_type(&f->w, "Node");
    typed_birth(f->stack, 10000, 1); /* its memory says something else */
    birth(f->stack, 20000);
    assert_int_equal(look(), 1);
    send_all(&updates);
    assert_int_equal(world.state.part_count, 1);
    assert_true(bytes_of(f->stack, "Node") == 30000);
}

static void test_many_parts_come_in_parts(void **state)
{
    struct fixture *f = *state;
    unsigned updates;
    uint32_t first = region_writer_stacks(&f->w, 50);
    begin_types();
    world.sent.rows_max = 7;
    for (uint32_t i = 0; i < 50; i++) {
        typed_birth(first + i, 4096 + i, 1 + i % 2);
    }
    assert_int_equal(look(), 1);
    assert_int_equal(send_all(&updates), 50);
    assert_int_equal(updates, 8 + 7);
    assert_int_equal(world.state.part_count, 50);
    for (uint32_t i = 0; i < 50; i++) {
        assert_true(bytes_of(first + i, names[1 + i % 2]) == 4096 + i);
    }
}

static void test_no_types(void **state)
{
    struct fixture *f = *state;
    struct hs_profile *profile = NULL;
    unsigned updates;
    birth(f->stack, 10000);
    assert_int_equal(look(), 1);
    send_all(&updates);
    assert_true(!world.state.has_types && world.state.part_count == 0);
    assert_int_equal(hs_watch_profile_make(&world.state, NULL, &profile), 0);
    assert_false(profile->dumps[0].has_types);
    hs_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_only_changes_are_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_program_that_stands_still, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_rows_come_in_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_frames_of_all_kinds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parts_of_the_snapshot, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_given_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_parts_come_in_parts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_types, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
