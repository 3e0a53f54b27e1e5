/*
 * The moment of a fork, the ring of records that died since, and a child's begin. See fork.h.
 */
#include "client/fork.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "client/live.h"
#include "client/locate.h"
#include "client/modules.h"
#include "client/pages.h"
#include "client/real.h"
#include "client/record.h"
#include "client/region.h"
#include "client/register.h"
#include "client/stacks.h"
#include "client/thread.h"
#include "rt/sys.h"

#define RING_ENTRIES (UINT64_C(1) << 17) /* 6 MiB, of which only what is used has pages */
/* Deaths that are written down after a fork: as many as there are records, within these. */
#define DEATHS_MIN (UINT64_C(1) << 14)
#define DEATHS_MAX RING_ENTRIES
#define NOTES_MAX  256U
#define READ_TRIES 8U
#define COPY_PAGE  4096U

struct death {
    uint64_t tag; /* its number + 1; 0 while it is being written */
    uint32_t record_id;
    uint32_t reserved;
    struct hs_record_v1 record; /* as it was, alive */
};

struct ring {
    uint64_t count; /* deaths so far; the last RING_ENTRIES are there */
    uint64_t pad[7];
    struct death deaths[RING_ENTRIES];
};

static struct hs_fork_callbacks on_fork;
static struct ring *ring; /* shared with our children, or, until we begin, with our parent */
static uint64_t ring_end; /* no more than so many deaths are written down */

/* What a child must know of the instant it was made. */
static struct {
    uint64_t epoch; /* births up to here are from before; 0: the child cannot begin */
    uint64_t first_death;
    uint64_t counts[HS_SECTION_N]; /* of the sections */
    struct hs_thread *self;        /* of the thread that forked */
} moment;

static bool is_waiting; /* we are a child that has not begun */
static uintptr_t notes[NOTES_MAX];
static uint64_t note_count;

/* --- in the parent --------------------------------------------------------------------------------- */

static struct ring *map_ring(void)
{
    long va = hs_sys_mmap(NULL, sizeof(struct ring), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (va < 0 && va > -4096) {
        return NULL;
    }
    hs_sandbox_advise((void *)va, sizeof(struct ring), MADV_DONTDUMP);
    return (struct ring *)va;
}

/* So many as could be needed, and have room. */
static uint64_t deaths_to_write_down(void)
{
    uint64_t records = moment.counts[HS_SECTION_RECORDS];
    records = records < DEATHS_MIN ? DEATHS_MIN : records;
    return records < DEATHS_MAX ? records : DEATHS_MAX;
}

static void prepare(void)
{
    if (is_waiting) {
        return; /* our child will inherit what we have inherited */
    }
    moment.epoch = 0;
    if (!on_fork.may_follow()) {
        return;
    }
    if (!ring) {
        ring = map_ring();
    }
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        moment.counts[i] = hs_load_relaxed(&hs_region.header->sections[i].count);
    }
    /* ORDER cut: births of the epoch that follows may still be from before. */
    moment.epoch = hs_add_acq_rel(&hs_control_page.control.epoch, 2) + 2;
    if (ring) {
        moment.first_death = hs_load_relaxed(&ring->count);
        hs_store_relaxed(&ring_end, moment.first_death + deaths_to_write_down());
        hs_store_relaxed(&hs_lifecycle.fork_epoch, moment.epoch);
    }
}

static void in_parent(void)
{
    if (!is_waiting && moment.epoch != 0) {
        /* ORDER cut: births from now on are not the child's. */
        hs_add_acq_rel(&hs_control_page.control.epoch, 2);
    }
}

void hs_fork_forget(void)
{
    hs_store_relaxed(&hs_lifecycle.fork_epoch, 0);
    moment.epoch = 0;
    if (ring) {
        hs_sys_munmap(ring, sizeof(*ring));
        ring = NULL;
    }
}

void hs_fork_write_down(const struct hs_record_v1 *record, uint64_t word)
{
    uint64_t epoch = hs_load_relaxed(&hs_lifecycle.fork_epoch);
    uint64_t number = hs_add_relaxed(&ring->count, 1);
    if (number >= hs_load_relaxed(&ring_end)) {
        /* A child that has not begun by now will miss some. */
        hs_cas_relaxed(&hs_lifecycle.fork_epoch, &epoch, 0);
        return;
    }
    struct death *death = &ring->deaths[number % RING_ENTRIES];
    hs_store_relaxed(&death->tag, 0);
    /* ORDER fork-death: an old tag is gone before its content. */
    hs_fence_release();
    hs_store_relaxed(&death->record_id, hs_region_record_id(record));
    hs_store_relaxed(&death->record.addr, record->addr);
    hs_store_relaxed(&death->record.size_thread, record->size_thread);
    hs_store_relaxed(&death->record.stack_id, record->stack_id);
    hs_store_relaxed(&death->record.word, word);
    /* ORDER fork-death: its content before its tag, and that before the record changes. */
    hs_store_release(&death->tag, number + 1);
}

/* --- in a child, before it begins ------------------------------------------------------------------- */

static void in_child(void)
{
    hs_lifecycle.fork_epoch = 0;
    if (hs_tls.guard_va != 0) {
        moment.epoch = 0;
        is_waiting = false;
        on_fork.on_torn_child();
    } else if (moment.epoch != 0) {
        if (!is_waiting) {
            is_waiting = true;
            moment.self = hs_tls.self;
            note_count = 0;
        }
        on_fork.on_child();
    }
}

bool hs_fork_watch(const struct hs_fork_callbacks *callbacks)
{
    on_fork = *callbacks;
    return pthread_atfork(prepare, in_parent, in_child) == 0;
}

bool hs_fork_note_free(uintptr_t addr)
{
    uint64_t i = hs_add_relaxed(&note_count, 1);
    if (i >= NOTES_MAX) {
        return false;
    }
    /* ORDER fork-note: the note before the look whether somebody has begun. */
    hs_swap_acq_rel(&notes[i], addr);
    return true;
}

bool hs_fork_take_note(uintptr_t addr)
{
    for (unsigned i = 0; i < NOTES_MAX; i++) {
        uintptr_t expected = addr;
        if (hs_load_relaxed(&notes[i]) == addr && hs_cas_relaxed(&notes[i], &expected, 0)) {
            return true;
        }
    }
    return false;
}

void hs_fork_forget_noted(void)
{
    for (unsigned i = 0; i < NOTES_MAX; i++) {
        /* ORDER fork-note: that we have begun, before the look at the notes. */
        uintptr_t addr = hs_swap_acq_rel(&notes[i], 0);
        if (addr != 0) {
            hs_live_remove(hs_thread_self(), addr, NULL);
        }
    }
}

/* --- the copy --------------------------------------------------------------------------------------- */

struct copy {
    int fd;
    const struct hs_section_v1 *sections;
    uint32_t *new_ids; /* by old id, + 1; 0: not inherited */
    uint64_t old_count;
    struct hs_record_v1 *records;
    uint32_t count;      /* of records, with those that came to nothing */
    uint64_t kept_count; /* blocks that the child has inherited, */
    uint64_t lost_count; /* and those that could not be had */
    uint64_t live_bytes;
};

/* Part of the new file, to be written. Sections begin with a page. */
static void *map_part(const struct copy *c, uint64_t off, uint64_t bytes)
{
    long va = hs_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, off);
    return va < 0 && va > -4096 ? NULL : (void *)va;
}

/* The elements of a section: *ret_from in the parent's file, *ret_to in ours. */
static bool map_both(const struct copy *c, enum hs_section_id section, const void **ret_from,
                     void **ret_to, uint64_t *ret_bytes)
{
    uint64_t count = moment.counts[section];
    *ret_bytes = count * hs_region_elem_bytes(section);
    /* The last one's view covers the first. */
    *ret_from = count > 0 && hs_region_at(section, count - 1) ? hs_region_at(section, 0) : NULL;
    *ret_to = *ret_from ? map_part(c, c->sections[section].file_off, *ret_bytes) : NULL;
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

/* Without their totals, which are the parent's. */
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
    }
    if (to) {
        hs_sys_munmap(to, bytes);
    }
    return true;
}

static bool is_from_before(uint64_t word)
{
    return HS_RECORD_STATE(word) == HS_RECORD_ALIVE && HS_RECORD_EPOCH(word) <= moment.epoch;
}

/* Copies a record that does not change meanwhile. False: it is another block's by now, or nobody's. */
static bool read_record(uint32_t id, uint32_t hash, struct hs_record_v1 *ret_record)
{
    const struct hs_record_v1 *record = hs_region_record(id);
    for (unsigned i = 0; record && i < READ_TRIES; i++) {
        /* ORDER record: as a collector reads it. */
        uint64_t word = hs_load_acquire(&record->word);
        if (!is_from_before(word)) {
            return false;
        }
        /* ORDER record: as a collector reads it. */
        ret_record->addr = hs_load_acquire(&record->addr);
        ret_record->size_thread = hs_load_acquire(&record->size_thread);
        ret_record->stack_id = hs_load_acquire(&record->stack_id);
        ret_record->word = word;
        if (hs_load_relaxed(&record->word) == word) {
            return hs_locate_hash(ret_record->addr) == hash;
        }
    }
    return false;
}

/* An entry of the index, or a place: a block that we have inherited. One may stand in two of them. */
static uint32_t inherit(void *ctx, uint32_t hash, uint32_t old_id)
{
    struct copy *c = ctx;
    if (old_id >= c->old_count) {
        c->lost_count++;
        return HS_RECORD_NONE;
    }
    if (c->new_ids[old_id] == 0) {
        struct hs_record_v1 *record = &c->records[c->count];
        if (!read_record(old_id, hash, record)) {
            /* It must have died since: to be found in the ring, by its hash. */
            *record = (struct hs_record_v1){ .addr = hash };
        }
        record->birth_ms = 0;
        c->new_ids[old_id] = ++c->count;
    }
    return c->new_ids[old_id] - 1;
}

static void read_death(struct copy *c, uint64_t number)
{
    const struct death *death = &ring->deaths[number % RING_ENTRIES];
    /* ORDER fork-death: its content, if it has the tag. */
    uint64_t tag = hs_load_acquire(&death->tag);
    uint32_t old_id = hs_load_relaxed(&death->record_id);
    /* ORDER fork-death: all of it before the second look at the tag. */
    uint64_t addr = hs_load_acquire(&death->record.addr);
    uint64_t size_thread = hs_load_acquire(&death->record.size_thread);
    uint32_t stack_id = hs_load_acquire(&death->record.stack_id);
    uint64_t word = hs_load_acquire(&death->record.word);
    if (tag != number + 1 || old_id >= c->old_count || c->new_ids[old_id] == 0 ||
        !is_from_before(word)) {
        return;
    }
    struct hs_record_v1 *record = &c->records[c->new_ids[old_id] - 1];
    uint64_t hash = record->word != 0 ? hs_locate_hash(record->addr) : record->addr;
    if (hs_locate_hash(addr) == hash && hs_load_relaxed(&death->tag) == tag) {
        *record = (struct hs_record_v1){
            .addr = addr, .size_thread = size_thread, .stack_id = stack_id, .word = word
        };
    }
}

/* Of records that changed while we copied, or before. */
static void read_deaths(struct copy *c)
{
    if (!ring) {
        return;
    }
    /* ORDER fork-death: a record that had changed when we copied it was written down before. */
    uint64_t end = hs_load_acquire(&ring->count);
    uint64_t first = moment.first_death;
    first = end - first > RING_ENTRIES ? end - RING_ENTRIES : first;
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
        hs_sys_munmap(c->new_ids, ids_bytes);
    }
    return is_ok;
}

static bool write_head(const struct copy *c)
{
    uint64_t bytes = HS_REGION_HEADER_OFF + sizeof(struct hs_region_header_v1);
    uint8_t *part = map_part(c, 0, bytes);
    if (!part) {
        return false;
    }
    struct hs_region_control_v1 *control = (struct hs_region_control_v1 *)part;
    const struct hs_region_control_v1 *old = &hs_control_page.control;
    control->magic = HS_REGION_MAGIC;
    control->interval_bytes = hs_load_relaxed(&old->interval_bytes);
    control->floor_bytes = hs_load_relaxed(&old->floor_bytes);
    control->generation = hs_load_relaxed(&old->generation) + 1;
    control->session = hs_region.session;
    control->epoch = moment.epoch + 2;
    struct hs_region_header_v1 *header = (void *)(part + HS_REGION_HEADER_OFF);
    *header = *hs_region.header;
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        header->sections[i].count = moment.counts[i];
    }
    header->sections[HS_SECTION_RECORDS].count = c->count;
    header->forked_from_pid = header->pid;
    hs_region_describe_process(header);
    hs_sys_munmap(part, bytes);
    return true;
}

/* The region is ours, and still has to say so. */
static void settle(struct copy *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const struct hs_record_v1 *record = hs_region_record(i);
        struct hs_totals_v1 *totals =
            record && record->word != 0
                ? hs_stack_totals(record->stack_id, HS_RECORD_EPOCH(record->word))
                : NULL;
        if (totals) {
            hs_stack_add(totals, HS_RECORD_SIZE(record->size_thread), HS_RECORD_HITS(record->word),
                         hs_region.header->interval_bytes[HS_RECORD_INTERVAL(record->word)]);
            c->live_bytes += hs_live_weight(record, record->word);
        }
    }
    hs_control_page.control.live_bytes = (int64_t)c->live_bytes;
    for (uint64_t i = 0; i < moment.counts[HS_SECTION_THREADS]; i++) {
        struct hs_thread_v1 *thread = hs_region_at(HS_SECTION_THREADS, i);
        if (thread) {
            thread->start_ms = 0;
        }
    }
    hs_records_forget_all();
    hs_modules_forget_adder();
    hs_record_start_clock();
    hs_thread_follow_fork(moment.self);
    struct hs_thread_block_v1 *block = hs_region_at(HS_SECTION_BLOCKS, 0);
    if (block) {
        block->sample_count = c->kept_count;
        block->alloc_bytes = c->live_bytes;
        block->lost_count[HS_LOSS_INHERITED] = c->lost_count;
    }
}

static bool copy_all(struct copy *c)
{
    static const enum hs_section_id plain[] = { HS_SECTION_THREADS, HS_SECTION_MODULES,
                                                HS_SECTION_BYTES, HS_SECTION_FRAMES,
                                                HS_SECTION_FRAME_IDS };
    for (unsigned i = 0; i < HS_COUNT_OF(plain); i++) {
        if (!copy_plain(c, plain[i])) {
            return false;
        }
    }
    return copy_stacks(c) && copy_records(c) && write_head(c);
}

bool hs_fork_begin(const char *name)
{
    struct copy c = { .sections = hs_region.header->sections,
                      .old_count = moment.counts[HS_SECTION_RECORDS] };
    if (hs_load_relaxed(&hs_control_page.control.interval_bytes) == HS_INTERVAL_OFF ||
        hs_sandbox_is_tight() || hs_region_create_file(&c.fd) < 0) {
        return false;
    }
    bool is_ok = copy_all(&c) && hs_region_replace(c.fd) == 0;
    if (is_ok) {
        settle(&c);
        is_ok = hs_register(name, c.fd, hs_real.has_own_malloc) == 0;
    }
    hs_sys_close(c.fd);
    if (ring) {
        hs_sys_munmap(ring, sizeof(*ring));
        ring = NULL;
    }
    is_waiting = false;
    return is_ok;
}
