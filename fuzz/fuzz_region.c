/*
 * Fuzz target: a region whose bytes are the input, as a hostile target could write it.
 *
 * The input starts with a list of patches (offset, 8 bytes) to a small valid region, so that few
 * bytes reach deep code. The last offsets are those of the scopes and of the types, which lie
 * further back. The rest overwrites the file from its header on. The target reads the
 * region in both ways: as that of a running process (with a cut) and as that of a dead one. Then a
 * watch worker looks at it, and its viewer must accept all that it sends.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/ledger/mmap_blocks.h"
#include "collect/ledger/owned_blocks.h"
#include "collect/ledger/residency.h"
#include "collect/region/capture.h"
#include "region_writer.h"
#include "util/utf8.h"
#include "watch/receive/watch_state.h"
#include "watch/send/watch_update.h"

#define PATCHES_MAX    64U
#define LIFETIME_WORDS 0xfc00U /* offsets from here on, in words, are those of lifetimes */
#define SCOPE_WORDS    0xff80U /* offsets from here on, in words, are those of the scopes */
#define TYPE_WORDS     0xff00U /* and these of the types */
#define OWNED_BYTES    (UINT64_C(1) << 30)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* May a reader show the name as it is? */
static void check_name(const char *name)
{
    size_t bytes = strlen(name), off = 0;
    if (bytes >= 3 * HS_SCOPE_NAME_BYTES) {
        abort();
    }
    while (off < bytes) {
        uint32_t character;
        size_t taken = hs_utf8_next(name + off, bytes - off, &character);
        if (character < ' ' || (character == 0xfffd && taken == 1)) {
            abort();
        }
        off += taken;
    }
}

/* Each type that a part has is named, once. */
static void check_types(const struct hs_snapshot *snap)
{
    for (uint32_t i = 0; i < snap->type_count; i++) {
        if (i > 0 && snap->types[i - 1].id >= snap->types[i].id) {
            abort();
        }
        check_name(snap->types[i].name);
    }
    for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
        for (size_t i = 0; i < snap->part_count[view]; i++) {
            uint16_t id = snap->parts[view][i].key.type_id;
            bool is_named = id == 0 || id == HS_PART_OTHERS;
            for (uint32_t k = 0; k < snap->type_count; k++) {
                is_named |= snap->types[k].id == id;
            }
            if (!is_named) {
                abort();
            }
        }
    }
}

static bool is_good(double value)
{
    return isfinite(value) && value >= 0;
}

static void check_lifetimes(const struct hs_snapshot *snap)
{
    for (size_t i = 0; i < snap->lifetime_count; i++) {
        const struct hs_snap_lifetimes *lifetimes = &snap->lifetimes[i];
        bool are_good = lifetimes->stack_id < snap->stack_count && is_good(lifetimes->byte_ms) &&
                        is_good(lifetimes->count_ms) && is_good(lifetimes->count_ms_var) &&
                        (i == 0 || lifetimes->stack_id > lifetimes[-1].stack_id);
        for (unsigned k = 0; k < HS_LIFETIME_CLASSES; k++) {
            are_good &= is_good(lifetimes->by_lifetime[k].bytes) &&
                        is_good(lifetimes->by_lifetime[k].count) &&
                        is_good(lifetimes->by_lifetime[k].count_var);
        }
        if (!are_good) {
            abort();
        }
    }
}

/* A reader that follows the parents comes to an end. */
static void check_scopes(const struct hs_snapshot *snap)
{
    for (uint32_t i = 0; i < snap->scope_count; i++) {
        const struct hs_snap_scope *scope = &snap->scopes[i];
        if (scope->parent >= i && scope->parent != 0) {
            abort();
        }
        check_name(scope->name);
    }
}

static void check(const struct hs_snapshot *snap)
{
    for (size_t i = 0; i < snap->block_count; i++) {
        const struct hs_snap_block *block = &snap->blocks[i];
        if (block->stack_id >= snap->stack_count || block->interval_idx >= HS_REGION_INTERVALS ||
            (block->hits > 0 && snap->block_interval_bytes[block->interval_idx] == 0)) {
            abort();
        }
    }
    for (uint32_t i = 0; i < snap->stack_count; i++) {
        const struct hs_snap_stack *stack = &snap->stacks[i];
        for (uint16_t k = 0; k < stack->frame_count; k++) {
            if (stack->frame_ids[k] >= snap->frame_count) {
                abort();
            }
        }
        if (stack->live.bytes > stack->alloc.bytes || stack->live.count > stack->alloc.count ||
            stack->heap_id >= snap->heap_count ||
            (stack->scope_id != 0 && stack->scope_id >= snap->scope_count)) {
            abort();
        }
    }
    check_scopes(snap);
    check_lifetimes(snap);
    check_types(snap);
    for (uint32_t i = 0; i < snap->frame_count; i++) {
        if (snap->frames[i].module_id >= snap->module_count) {
            abort();
        }
    }
    for (uint32_t i = 0; i < snap->module_count; i++) {
        if (strlen(snap->modules[i].path) > 4096) {
            abort();
        }
    }
}

static void read_mapped(const struct hs_region *region)
{
    struct hs_mmap_blocks blocks = { 0 };
    if (hs_mmap_blocks_read(region, &blocks) == 0) {
        for (size_t i = 0; i < blocks.count; i++) {
            if (blocks.items[i].start_va >= blocks.items[i].end_va) {
                abort();
            }
        }
    }
    hs_mmap_blocks_deinit(&blocks);
}

/* Blocks in a range of this process's own addresses, of which nothing is resident. */
static void read_owned(const struct hs_region *region)
{
    static struct hs_heap_v2 heaps[HS_REGION_HEAPS];
    struct hs_ledger_blocks blocks = { 0 }, python = { 0 };
    struct hs_owned_ranges owned = { 0 };
    const struct hs_owned_range range = { 1, OWNED_BYTES, HS_LEDGER_ALLOCATOR, "" };
    int pagemap_fd = hs_residency_open(getpid());
    if (pagemap_fd >= 0 && hs_owned_ranges_add(&owned, &range) == 0 &&
        hs_owned_ranges_settle(&owned) == 0 && hs_region_read_heaps(region, heaps) >= 0) {
        (void)hs_owned_blocks_read(region, heaps, pagemap_fd, &owned, &python, &blocks);
        if (blocks.bytes > OWNED_BYTES || !(blocks.variance >= 0) || !(python.variance >= 0)) {
            abort();
        }
    }
    hs_owned_ranges_deinit(&owned);
    if (pagemap_fd >= 0) {
        close(pagemap_fd);
    }
}

static void capture(const struct region_writer *w, bool is_dead)
{
    struct hs_region region;
    struct hs_snapshot *snap = NULL;
    int fd = region_writer_dup(w);
    if (hs_region_open(fd, w->file_bytes, &region, NULL) != 0) {
        close(fd);
        return;
    }
    region.has_blocks = true;
    if (hs_capture(&region, is_dead, 1, &snap) == 0) {
        check(snap);
        hs_snapshot_free(snap);
    }
    read_mapped(&region);
    read_owned(&region);
    hs_region_close(&region);
}

/* Sends a viewer one update, packed. Returns whether there are more. */
static bool send_update(const struct hs_region *region, const struct hs_watch_look *look,
                        struct hs_watch_sent *sent, struct hs_watch_state *viewer)
{
    struct hs_watch_update update;
    if (hs_watch_update_fill(sent, region, look, &update) != 0) {
        return false;
    }
    size_t bytes = hs__ctl__update__get_packed_size(&update.message);
    uint8_t *packed = malloc(bytes + 1);
    Hs__Ctl__Update *arrived = NULL;
    if (packed) {
        hs__ctl__update__pack(&update.message, packed);
        arrived = hs__ctl__update__unpack(NULL, bytes, packed);
    }
    if (!arrived || hs_watch_state_apply(viewer, arrived) != 0) {
        abort();
    }
    bool has_more = arrived->has_more;
    hs__ctl__update__free_unpacked(arrived, NULL);
    free(packed);
    hs_watch_update_deinit(&update);
    return has_more;
}

static void watch(const struct region_writer *w)
{
    struct hs_region region;
    struct hs_watch_look look = { .time_ns = 0 };
    struct hs_watch_sent sent = { .rows_max = 2 };
    struct hs_watch_state viewer;
    int fd = region_writer_dup(w);
    if (hs_region_open(fd, w->file_bytes, &region, NULL) != 0) {
        close(fd);
        return;
    }
    if (hs_watch_state_init(&viewer) == 0 && hs_watch_look(&look, &region, 1) == 1) {
        while (send_update(&region, &look, &sent, &viewer)) {
        }
        if (hs_watch_look(&look, &region, UINT64_C(1) << 40) == 1) {
            send_update(&region, &look, &sent, &viewer);
        }
    }
    hs_watch_state_deinit(&viewer);
    hs_watch_sent_deinit(&sent);
    hs_watch_look_deinit(&look);
    hs_region_close(&region);
}

static void patch(struct region_writer *w, const uint8_t *data, size_t size)
{
    const uint64_t scopes_off = w->header->sections[HS_SECTION_SCOPES].file_off;
    const uint64_t lifetimes_off = hs_region_section(w->header, HS_SECTION_LIFETIMES)->file_off;
    const uint64_t types_off = w->header->sections[HS_SECTION_TYPES].file_off;
    size_t n = size > 0 ? data[0] % PATCHES_MAX : 0, at = 1;
    for (size_t i = 0; i < n && at + 10 <= size; i++, at += 10) {
        uint64_t word = (uint64_t)data[at] | (uint64_t)data[at + 1] << 8, off = word * 8;
        if (word >= SCOPE_WORDS) {
            off = scopes_off + (word - SCOPE_WORDS) * 8;
        } else if (word >= LIFETIME_WORDS) {
            off = lifetimes_off + (word - LIFETIME_WORDS) * 8;
        } else if (word >= TYPE_WORDS) {
            off = types_off + (word - TYPE_WORDS) * 8;
        }
        memcpy(w->base + off % (w->file_bytes - 8), data + at + 2, 8);
    }
    if (at < size) {
        size_t left = size - at, room = w->file_bytes - HS_REGION_HEADER_OFF;
        memcpy(w->base + HS_REGION_HEADER_OFF, data + at, left < room ? left : room);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct region_writer w;
    struct player p;
    region_writer_init(&w, &(struct region_plan){ 256, 4096 });
    uint32_t stack = region_writer_stacks(&w, 4);
    player_init(&p, &w, 1, 0, 256);
    w.header->sections[HS_SECTION_RECORDS].count = 64;
    player_birth(&p, stack, 5000, 0);
    player_birth(&p, stack + 1, 50, 1);
    struct hs_stack_v1 *mapped = region_writer_at(&w, HS_SECTION_STACKS, stack + 2);
    mapped->heap_id = region_writer_heap(&w, HS_HEAP_NAME_MMAP, HS_HEAP_EXACT);
    player_birth(&p, stack + 2, 8192, 0);
    hs_region_section(w.header, HS_SECTION_LIFETIMES)->count = 4;
    w.header->sections[HS_SECTION_SCOPES].count = HS_SCOPE_OTHER + 1;
    uint32_t scope = region_writer_scope(&w, "outer", 0);
    struct hs_stack_v1 *scoped = region_writer_at(&w, HS_SECTION_STACKS, stack);
    scoped->scope_id = region_writer_scope(&w, "tenant=a", scope);
    w.header->sections[HS_SECTION_TYPES].count = HS_TYPE_OTHER + 1;
    struct hs_stack_v1 *typed = region_writer_at(&w, HS_SECTION_STACKS, stack + 1);
    typed->type_id = region_writer_type(&w, "Node");
    patch(&w, data, size);
    capture(&w, false);
    capture(&w, true);
    watch(&w);
    player_deinit(&p);
    region_writer_deinit(&w);
    return 0;
}
