/*
 * Copies sections, records and deaths from the parent's file to the child's. See fork_copy.h.
 */
#include "client/life/fork_copy.h"

#include <string.h>
#include <sys/mman.h>

#include "client/host/pages.h"
#include "client/tables/heap_blocks.h"
#include "client/tables/heap_peak.h"
#include "client/tables/heaps.h"
#include "client/tables/live.h"
#include "client/tables/locate.h"
#include "client/tables/mapped.h"
#include "client/tables/modules.h"
#include "client/tables/record_pool.h"
#include "client/tables/region.h"
#include "client/tables/stacks.h"
#include "client/thread/thread.h"
#include "rt/bits.h"
#include "rt/check.h"
#include "rt/rand.h"
#include "rt/sys.h"

#define READ_TRIES 8U
#define COPY_PAGE  4096U

struct copy {
    const struct hs_fork_moment *moment;
    const struct hs_fork_ring *ring;
    int fd;
    const struct hs_section_v1 *sections;
    uint32_t *new_ids; /* by old id, + 1; 0: not inherited */
    uint64_t old_count;
    struct hs_record_v1 *records;
    uint32_t count;       /* of records, including those that could not be recovered */
    uint64_t kept_count;  /* blocks that the child has inherited, */
    uint64_t lost_count;  /* and those that could not be recovered */
    uint64_t live_bytes;  /* of heaps that are not carved */
    uint64_t alloc_bytes; /* weight of all blocks */
};

/* Maps a part of the new file, for writing. Sections begin at a page. */
static void *map_part(const struct copy *c, uint64_t off, uint64_t bytes)
{
    long va = hs_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, off);
    return va < 0 && va > -4096 ? NULL : (void *)va;
}

/* The elements of a section: *ret_from in the parent's file, *ret_to in ours. */
static bool map_both(const struct copy *c, enum hs_section_id section, const void **ret_from,
                     void **ret_to, uint64_t *ret_bytes)
{
    uint64_t count = c->moment->counts[section];
    *ret_bytes = count * hs_section_elem_bytes(section);
    /* The last one's view covers the first. */
    *ret_from = count > 0 && hs_region_at(section, count - 1) ? hs_region_at(section, 0) : NULL;
    *ret_to = *ret_from ? map_part(c, hs_region.layout[section].file_off, *ret_bytes) : NULL;
    if (*ret_to) {
        hs_pages_populate(*ret_to, hs_align_up(*ret_bytes, COPY_PAGE));
    }
    return *ret_to || count == 0;
}

static bool copy_plain(const struct copy *c, enum hs_section_id section)
{
    const void *from;
    void *to;
    uint64_t bytes;
    if (!map_both(c, section, &from, &to, &bytes)) {
        return false;
    }
    if (to) {
        memcpy(to, from, bytes);
        hs_sys_munmap(to, bytes);
    }
    return true;
}

/* Copies stacks without their totals, which are the parent's. */
static bool copy_stacks(const struct copy *c)
{
    const void *from;
    void *to;
    uint64_t bytes;
    if (!map_both(c, HS_SECTION_STACKS, &from, &to, &bytes)) {
        return false;
    }
    const struct hs_stack_v1 *old = from;
    struct hs_stack_v1 *stacks = to;
    for (uint64_t i = 0; i < bytes / sizeof(*stacks); i++) {
        memcpy(&stacks[i], &old[i], offsetof(struct hs_stack_v1, totals));
        stacks[i].scope_id = old[i].scope_id;
        stacks[i].base_id = old[i].base_id;
    }
    if (to) {
        hs_sys_munmap(to, bytes);
    }
    return true;
}

static bool is_from_before(const struct copy *c, uint64_t word)
{
    return HS_RECORD_STATE(word) == HS_RECORD_ALIVE && HS_RECORD_EPOCH(word) <= c->moment->epoch;
}

/* Does a block have this hash, in malloc's index or in that of the other heaps? One heap may have
 * blocks in both (live.h: hs_live_is_in_heap). */
static bool is_hash_of(const struct hs_record_v1 *record, uint32_t hash)
{
    uint8_t heap_id = hs_region_heap_of(record);
    bool is_here = heap_id == 0 || hs_heap_blocks_is_addressed(heap_id);
    return (is_here && hash == hs_locate_hash(record->addr)) ||
           (heap_id != 0 && hash == hs_heap_hash(heap_id, record->addr));
}

/* Copies a record that does not change meanwhile. False: it belongs to another block by now, or to
 * none. */
static bool read_record(const struct copy *c, uint32_t id, uint32_t hash,
                        struct hs_record_v1 *ret_record)
{
    const struct hs_record_v1 *record = hs_region_record(id);
    for (unsigned i = 0; record && i < READ_TRIES; i++) {
        /* ORDER record: as a collector reads it. */
        uint64_t word = hs_load_acquire(&record->word);
        if (!is_from_before(c, word)) {
            return false;
        }
        /* ORDER record: as a collector reads it. */
        ret_record->addr = hs_load_acquire(&record->addr);
        ret_record->size_thread = hs_load_acquire(&record->size_thread);
        ret_record->stack_id = hs_load_acquire(&record->stack_id);
        ret_record->word = word;
        if (hs_load_relaxed(&record->word) == word) {
            return is_hash_of(ret_record, hash);
        }
    }
    return false;
}

/* Called for each entry of the index and of a record cache: a block that the child has inherited.
 * One block may stand in two of them. */
static uint32_t inherit(void *ctx, uint32_t hash, uint32_t old_id)
{
    struct copy *c = ctx;
    if (old_id >= c->old_count) {
        c->lost_count++;
        return HS_RECORD_NONE;
    }
    if (c->new_ids[old_id] == 0) {
        struct hs_record_v1 *record = &c->records[c->count];
        if (!read_record(c, old_id, hash, record)) {
            /* The block has died since; its record is looked for in the ring, by its hash. */
            *record = (struct hs_record_v1){ .addr = hash };
        }
        if (record->word != 0 && hs_region_heap_of(record) == hs_mapped_heap() &&
            hs_mapped_heap() != 0 && hs_mapped_leave_to_parent(record->addr)) {
            *record = (struct hs_record_v1){ 0 };
            return HS_RECORD_NONE;
        }
        HS_ASSERT(record->word == 0 ||
                  (is_from_before(c, record->word) && is_hash_of(record, hash)));
        record->birth_ms = 0;
        c->new_ids[old_id] = ++c->count;
    }
    return c->new_ids[old_id] - 1;
}

static void read_death(struct copy *c, uint64_t number)
{
    const struct hs_fork_death *death = &c->ring->deaths[number % HS_FORK_RING_ENTRIES];
    /* ORDER fork-death: its content, if it has the tag. */
    uint64_t tag = hs_load_acquire(&death->tag);
    uint32_t old_id = hs_load_relaxed(&death->record_id);
    /* ORDER fork-death: all of it before the second look at the tag. */
    uint64_t addr = hs_load_acquire(&death->record.addr);
    uint64_t size_thread = hs_load_acquire(&death->record.size_thread);
    uint32_t stack_id = hs_load_acquire(&death->record.stack_id);
    uint64_t word = hs_load_acquire(&death->record.word);
    if (tag != number + 1 || old_id >= c->old_count || c->new_ids[old_id] == 0 ||
        !is_from_before(c, word)) {
        return;
    }
    struct hs_record_v1 *record = &c->records[c->new_ids[old_id] - 1];
    const struct hs_record_v1 dead = {
        .addr = addr, .size_thread = size_thread, .stack_id = stack_id, .word = word
    };
    bool is_same = record->word != 0 ? record->addr == addr && record->stack_id == stack_id
                                     : is_hash_of(&dead, (uint32_t)record->addr);
    HS_ASSERT(c->new_ids[old_id] <= c->count);
    if (is_same && hs_load_relaxed(&death->tag) == tag) {
        *record = dead;
    }
}

/* Reads the deaths of records that changed before or during the copy. */
static void read_deaths(struct copy *c)
{
    if (!c->ring) {
        return;
    }
    /* ORDER fork-death: a record that had changed when we copied it was written down before. */
    uint64_t end = hs_load_acquire(&c->ring->count);
    uint64_t first = c->moment->first_death;
    first = end - first > HS_FORK_RING_ENTRIES ? end - HS_FORK_RING_ENTRIES : first;
    for (; first < end; first++) {
        read_death(c, first);
    }
}

static bool copy_records(struct copy *c)
{
    uint64_t bytes = c->old_count * sizeof(struct hs_record_v1) + COPY_PAGE;
    uint64_t ids_bytes = c->old_count * sizeof(uint32_t) + COPY_PAGE;
    c->records = map_part(c, c->sections[HS_SECTION_RECORDS].file_off, bytes);
    c->new_ids = hs_pages_map(ids_bytes);
    bool is_ok = c->records && c->new_ids;
    if (is_ok) {
        hs_locate_renumber(inherit, c);
        hs_heap_blocks_renumber(inherit, c);
        read_deaths(c);
    }
    for (uint32_t i = 0; is_ok && i < c->count; i++) {
        bool is_lost = c->records[i].word == 0;
        c->lost_count += is_lost;
        c->kept_count += !is_lost;
        if (is_lost) {
            c->records[i].addr = 0;
        }
    }
    if (c->records) {
        hs_sys_munmap(c->records, bytes);
    }
    if (c->new_ids) {
        hs_pages_unmap(c->new_ids, ids_bytes);
    }
    return is_ok;
}

static bool write_head(const struct copy *c)
{
    uint64_t bytes = HS_REGION_HEADER_OFF + sizeof(struct hs_region_header_v2);
    uint8_t *part = map_part(c, 0, bytes);
    if (!part) {
        return false;
    }
    struct hs_region_control_v1 *control = (void *)part;
    const struct hs_region_control_v1 *old = &hs_control_page.control;
    control->magic = HS_REGION_MAGIC;
    control->interval_bytes = hs_load_relaxed(&old->interval_bytes);
    control->floor_bytes = hs_load_relaxed(&old->floor_bytes);
    control->generation = hs_load_relaxed(&old->generation) + 1;
    /* Valid until the child's own collector changes them. */
    control->flags = hs_load_relaxed(&old->flags);
    control->region_limit_bytes = hs_load_relaxed(&old->region_limit_bytes);
    control->heap_selection = old->heap_selection;
    control->session = hs_region.session;
    control->epoch = c->moment->epoch + 2;
    struct hs_region_header_v2 *header = (void *)(part + HS_REGION_HEADER_OFF);
    *header = *hs_region.header;
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        hs_region_section(header, i)->count = c->moment->counts[i];
    }
    hs_region_section(header, HS_SECTION_LIFETIMES)->count =
        0; /* those of the blocks that the child frees */
    header->sections[HS_SECTION_RECORDS].count = c->count;
    header->forked_from_pid = header->pid;
    hs_region_describe_process(header);
    hs_sys_munmap(part, bytes);
    return true;
}

/* The parent has the same samples, and so has each of its children: their errors add up, not their
 * variances. */
static void add_inherited(uint32_t stack_id, const struct hs_record_v1 *record)
{
    uint64_t hits = HS_RECORD_HITS(record->word);
    double interval = (double)hs_region.header->interval_bytes[HS_RECORD_INTERVAL(record->word)];
    struct hs_stack_v1 *stack = hits > 0 ? hs_region_stack(stack_id) : NULL;
    if (stack && interval > 0) {
        double size = (double)HS_RECORD_SIZE(record->size_thread);
        double count = hs_inverse_hit_probability(size / interval);
        stack->inherited_bytes_var = hs_double_bits(hs_double_of_bits(stack->inherited_bytes_var) +
                                                    (double)hits * interval * interval);
        stack->inherited_count_var =
            hs_double_bits(hs_double_of_bits(stack->inherited_count_var) + count * (count - 1));
    }
}

/* Adds an inherited block to the live total of its carved heap, or of the process. */
static void count_live(struct copy *c, const struct hs_record_v1 *record)
{
    struct hs_heap_v2 *heap = hs_heaps_element(hs_region_heap_of(record));
    uint64_t weight_bytes = hs_live_weight(record, record->word);
    c->alloc_bytes += weight_bytes;
    hs_shared_add(&heap->alloc_bytes, hs_region_heap_of(record) != 0 ? weight_bytes : 0);
    if (hs_heap_peak_is_own(heap)) {
        hs_heap_peak_add(heap, (int64_t)weight_bytes);
    } else {
        c->live_bytes += weight_bytes;
    }
}

/* The region is mapped now; completes what describes the child. */
static void settle(struct copy *c)
{
    hs_heaps_write_all();
    for (uint32_t i = 0; i < c->count; i++) {
        const struct hs_record_v1 *record = hs_region_record(i);
        struct hs_totals_v1 *totals =
            record && record->word != 0
                ? hs_stack_totals(record->stack_id, HS_RECORD_EPOCH(record->word))
                : NULL;
        if (totals) {
            hs_stack_add(totals, HS_RECORD_SIZE(record->size_thread), HS_RECORD_HITS(record->word),
                         hs_region.header->interval_bytes[HS_RECORD_INTERVAL(record->word)]);
            add_inherited(record->stack_id, record);
            count_live(c, record);
        }
    }
    hs_control_page.control.live_bytes = (int64_t)c->live_bytes;
    for (uint64_t i = 0; i < c->moment->counts[HS_SECTION_THREADS]; i++) {
        struct hs_thread_v1 *thread = hs_region_at(HS_SECTION_THREADS, i);
        if (thread) {
            thread->start_ms = 0;
        }
    }
    hs_record_pool_forget_all();
    hs_heap_peak_forget_all();
    hs_modules_forget_adder();
    hs_thread_follow_fork(c->moment->self);
    struct hs_thread_block_v1 *block = hs_region_at(HS_SECTION_BLOCKS, 0);
    if (block) {
        block->sample_count = c->kept_count;
        block->inherited_count = c->kept_count;
        block->is_inherited_known = 1;
        block->alloc_bytes = c->alloc_bytes;
        block->lost_count[HS_LOSS_INHERITED] = c->lost_count;
    }
}

static bool copy_all(struct copy *c)
{
    static const enum hs_section_id plain[] = { HS_SECTION_THREADS,   HS_SECTION_MODULES,
                                                HS_SECTION_BYTES,     HS_SECTION_FRAMES,
                                                HS_SECTION_FRAME_IDS, HS_SECTION_SCOPES,
                                                HS_SECTION_TYPES,     HS_SECTION_CODE_NAMES };
    for (unsigned i = 0; i < HS_COUNT_OF(plain); i++) {
        if (!copy_plain(c, plain[i])) {
            return false;
        }
    }
    return copy_stacks(c) && copy_records(c) && write_head(c);
}

bool hs_fork_copy(const struct hs_fork_moment *moment, const struct hs_fork_ring *ring, int fd)
{
    struct copy c = { .moment = moment,
                      .ring = ring,
                      .fd = fd,
                      .sections = hs_region.header->sections,
                      .old_count = moment->counts[HS_SECTION_RECORDS] };
    HS_ASSERT(moment->epoch != 0);
    bool is_ok = copy_all(&c) && hs_region_replace(fd) == 0;
    if (is_ok) {
        settle(&c);
    }
    return is_ok;
}
