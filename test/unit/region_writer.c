/*
 * The plain writer: see region_writer.h.
 */
#include "region_writer.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "rt/atomic.h"
#include "rt/base.h"
#include "rt/bits.h"

static void require(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

void region_writer_init(struct region_writer *w, const struct region_plan *plan)
{
    const uint64_t plans[HS_SECTION_N][2] = {
        [HS_SECTION_BLOCKS] = { sizeof(struct hs_thread_block_v1), 64 },
        [HS_SECTION_THREADS] = { sizeof(struct hs_thread_v1), 64 },
        [HS_SECTION_MODULES] = { sizeof(struct hs_module_v1), 64 },
        [HS_SECTION_BYTES] = { 1, 1U << 16 },
        [HS_SECTION_FRAMES] = { sizeof(struct hs_frame_v1), 2 * RW_STACKS_MAX },
        [HS_SECTION_FRAME_IDS] = { sizeof(uint32_t), 8 * RW_STACKS_MAX },
        [HS_SECTION_STACKS] = { sizeof(struct hs_stack_v1), RW_STACKS_MAX },
        [HS_SECTION_RECORDS] = { sizeof(struct hs_record_v1), plan->record_count },
        [HS_SECTION_HEAPS] = { sizeof(struct hs_heap_v2), HS_REGION_HEAPS },
        [HS_SECTION_TYPES] = { sizeof(struct hs_name_v2), 16 },
        [HS_SECTION_SCOPES] = { sizeof(struct hs_name_v2), 16 },
        [HS_SECTION_LIFETIMES] = { sizeof(struct hs_lifetimes_v2), RW_LIFETIMES_MAX },
        [HS_SECTION_UNWIND_TABLES] = { 1, 65536 },
        [HS_SECTION_CODE_NAMES] = { sizeof(struct hs_code_name_v2), 16 },
    };
    struct hs_section_v1 sections[HS_SECTION_N] = { { 0 } };
    uint64_t off = hs_align_up(HS_REGION_HEADER_OFF + sizeof(struct hs_region_header_v2), 4096);
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        sections[i].file_off = off;
        sections[i].elem_bytes = (uint32_t)plans[i][0];
        sections[i].max_count = plans[i][1];
        off = hs_align_up(off + plans[i][0] * plans[i][1], 4096);
    }
    w->file_bytes = off;
    w->fd = memfd_create("region_writer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    require(w->fd >= 0 && ftruncate(w->fd, (off_t)off) == 0);
    require(fcntl(w->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    w->base = mmap(NULL, off, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
    require(w->base != MAP_FAILED);
    w->control = (void *)w->base;
    w->header = (void *)(w->base + HS_REGION_HEADER_OFF);
    w->control->magic = HS_REGION_MAGIC;
    w->control->epoch = 2;
    w->control->interval_bytes = plan->interval_bytes;
    w->control->heap_selection.other_interval_bytes = HS_INTERVAL_SAME;
    w->header->magic = HS_REGION_MAGIC;
    w->header->version = HS_REGION_VERSION;
    w->header->header_bytes = sizeof(*w->header);
    w->header->pid = (uint32_t)getpid();
    w->header->start_mono_ns = 1000;
    w->header->interval_bytes[1] = plan->interval_bytes;
    w->header->interval_count = 2;
    w->header->is_from_startup = 1;
    memcpy(w->header->comm, "writer", 7);
    for (unsigned i = 0; i < HS_SECTION_N; i++) {
        *hs_region_section(w->header, i) = sections[i];
    }
    region_writer_heap(w, "libc.malloc", 0);
    region_writer_text(w, "");
    w->header->exe_off = region_writer_text(w, "/bin/writer");
    w->header->cmdline_off = region_writer_text(w, "writer");
    w->header->cmdline_bytes = 7;
    w->header->sections[HS_SECTION_THREADS].count = 1;
    hs_region_section(w->header, HS_SECTION_CODE_NAMES)->count = 1;
    struct hs_module_v1 *marker = region_writer_at(w, HS_SECTION_MODULES, 0);
    region_writer_module(w, "", 0, 0);
    marker->kind = HS_MODULE_MARKER;
}

void region_writer_deinit(struct region_writer *w)
{
    munmap(w->base, w->file_bytes);
    close(w->fd);
}

int region_writer_dup(const struct region_writer *w)
{
    return fcntl(w->fd, F_DUPFD_CLOEXEC, 0);
}

void *region_writer_at(const struct region_writer *w, enum hs_section_id id, uint64_t idx)
{
    const struct hs_section_v1 *section = hs_region_section(w->header, id);
    require(idx < section->max_count);
    return w->base + section->file_off + idx * section->elem_bytes;
}

static uint32_t take(struct region_writer *w, enum hs_section_id id, uint64_t count)
{
    return (uint32_t)hs_add_relaxed(&hs_region_section(w->header, id)->count, count);
}

uint32_t region_writer_text(struct region_writer *w, const char *text)
{
    uint32_t off = take(w, HS_SECTION_BYTES, strlen(text) + 1);
    strcpy(region_writer_at(w, HS_SECTION_BYTES, off), text);
    return off;
}

uint8_t region_writer_heap(struct region_writer *w, const char *name, uint32_t flags)
{
    uint32_t id = take(w, HS_SECTION_HEAPS, 1);
    struct hs_heap_v2 *heap = region_writer_at(w, HS_SECTION_HEAPS, id);
    strcpy(heap->name, name);
    hs_store_release(&heap->flags, HS_HEAP_NAMED | flags);
    return (uint8_t)id;
}

uint32_t region_writer_type(struct region_writer *w, const char *name)
{
    uint32_t id = take(w, HS_SECTION_TYPES, 1);
    struct hs_name_v2 *type = region_writer_at(w, HS_SECTION_TYPES, id);
    type->name_off = region_writer_text(w, name);
    hs_store_release(&type->hash, 1);
    return id;
}

uint32_t region_writer_scope(struct region_writer *w, const char *name, uint32_t parent)
{
    uint32_t id = take(w, HS_SECTION_SCOPES, 1);
    struct hs_name_v2 *scope = region_writer_at(w, HS_SECTION_SCOPES, id);
    scope->name_off = region_writer_text(w, name);
    scope->parent = parent;
    hs_store_release(&scope->hash, 1);
    return id;
}

uint32_t region_writer_module(struct region_writer *w, const char *path, uint64_t start_va,
                              uint64_t bias_va)
{
    uint32_t id = take(w, HS_SECTION_MODULES, 1);
    struct hs_module_v1 *module = region_writer_at(w, HS_SECTION_MODULES, id);
    module->path_off = region_writer_text(w, path);
    module->start_va = start_va;
    module->end_va = start_va + 0x10000;
    module->bias_va = bias_va;
    return id;
}

uint32_t region_writer_frame(struct region_writer *w, uint64_t pc, uint32_t module_id,
                             uint32_t flags)
{
    uint32_t id = take(w, HS_SECTION_FRAMES, 1);
    struct hs_frame_v1 *frame = region_writer_at(w, HS_SECTION_FRAMES, id);
    *frame = (struct hs_frame_v1){ pc, module_id, flags };
    return id;
}

uint32_t region_writer_code_name(struct region_writer *w, const struct hs_code_name_v2 *name)
{
    uint32_t id = take(w, HS_SECTION_CODE_NAMES, 1);
    *(struct hs_code_name_v2 *)region_writer_at(w, HS_SECTION_CODE_NAMES, id) = *name;
    return id;
}

uint32_t region_writer_stack(struct region_writer *w, const uint32_t *frame_ids, uint16_t count)
{
    uint32_t first = take(w, HS_SECTION_FRAME_IDS, count);
    uint32_t id = take(w, HS_SECTION_STACKS, 1);
    struct hs_stack_v1 *stack = region_writer_at(w, HS_SECTION_STACKS, id);
    for (uint16_t i = 0; i < count; i++) {
        *(uint32_t *)region_writer_at(w, HS_SECTION_FRAME_IDS, first + i) = frame_ids[i];
    }
    stack->frame_ids_idx = first;
    stack->frame_count = count;
    hs_store_release(&stack->hash, (uint64_t)id + 1);
    return id;
}

uint32_t region_writer_stacks(struct region_writer *w, uint32_t count)
{
    uint32_t module = region_writer_module(w, "/bin/writer", 0x400000, 0x400000);
    uint32_t first = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t frame = region_writer_frame(w, 0x401000 + i, module, 0);
        uint32_t stack = region_writer_stack(w, &frame, 1);
        first = i == 0 ? stack : first;
    }
    return first;
}

void player_init(struct player *p, struct region_writer *w, uint32_t thread_id, uint32_t first,
                 uint32_t count)
{
    *p = (struct player){ .w = w, .thread_id = thread_id, .random = thread_id };
    p->free_slots = calloc(count, sizeof(uint32_t));
    p->dead = calloc(count, sizeof(*p->dead));
    require(p->free_slots && p->dead);
    for (uint32_t i = 0; i < count; i++) {
        p->free_slots[i] = first + i;
    }
    p->free_count = count;
    struct hs_thread_v1 *thread = region_writer_at(w, HS_SECTION_THREADS, thread_id);
    thread->tid = 100 + thread_id;
    if (w->header->sections[HS_SECTION_THREADS].count <= thread_id) {
        w->header->sections[HS_SECTION_THREADS].count = thread_id + 1;
    }
}

void player_deinit(struct player *p)
{
    free(p->free_slots);
    free(p->dead);
}

/* A tombstone is free again when neither of the cuts for which it was kept is the current one. */
static void reclaim(struct player *p)
{
    /* Pairs with the closing of the cut. */
    uint64_t cut = hs_load_acquire(&p->w->control->snapshot_epoch);
    uint64_t peak = hs_load_acquire(&p->w->control->peak_epoch);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->dead_count; i++) {
        struct tombstone dead = p->dead[i];
        if ((dead.cut != 0 && dead.cut == cut) || (dead.peak != 0 && dead.peak == peak)) {
            p->dead[kept++] = dead;
            continue;
        }
        struct hs_record_v1 *record = region_writer_at(p->w, HS_SECTION_RECORDS, dead.slot);
        hs_store_relaxed(&record->word, 0);
        p->free_slots[p->free_count++] = dead.slot;
    }
    p->dead_count = kept;
}

static void count_alloc(struct region_writer *w, uint32_t stack_id, uint64_t epoch,
                        uint64_t size_bytes, unsigned hits)
{
    struct hs_stack_v1 *stack = region_writer_at(w, HS_SECTION_STACKS, stack_id);
    struct hs_totals_v1 *totals = &stack->totals[epoch & 1];
    if (hits == 0) {
        hs_add_relaxed(&totals->exact_bytes, size_bytes);
        hs_add_relaxed(&totals->exact_count, 1);
        return;
    }
    double interval = (double)w->header->interval_bytes[1];
    double p = 1 - exp(-(double)size_bytes / interval);
    hs_add_relaxed(&totals->sampled_bytes, hits * w->header->interval_bytes[1]);
    hs_add_relaxed(&totals->sampled_count_fx, (uint64_t)(1 / p * (1 << HS_COUNT_SHIFT)));
    uint64_t old = hs_load_relaxed(&totals->sampled_count_var);
    while (!hs_cas_relaxed(&totals->sampled_count_var, &old,
                           hs_double_bits(hs_double_of_bits(old) + (1 - p) / p / p))) {
    }
}

uint32_t player_birth(struct player *p, uint32_t stack_id, uint64_t size_bytes, unsigned hits)
{
    if (p->free_count == 0 ||
        (p->dead_count > 0 && hs_load_relaxed(&p->w->control->snapshot_epoch) == 0)) {
        reclaim(p);
    }
    if (p->free_count == 0) {
        return UINT32_MAX;
    }
    /*
     * A random slot: if slots were reused in turn, even a reader without epochs would see
     * consistent sums.
     */
    p->random = hs_mix64(p->random + 1);
    uint32_t at = (uint32_t)(p->random % p->free_count);
    uint32_t slot = p->free_slots[at];
    p->free_slots[at] = p->free_slots[--p->free_count];
    struct hs_record_v1 *record = region_writer_at(p->w, HS_SECTION_RECORDS, slot);
    uint64_t epoch = hs_load_acquire(&p->w->control->epoch);
    record->addr = slot;
    record->size_thread = HS_RECORD_SIZE_THREAD(size_bytes, p->thread_id);
    record->stack_id = stack_id;
    hs_store_release(&record->word, HS_RECORD_WORD(epoch, hits ? 1 : 0, hits, HS_RECORD_ALIVE));
    count_alloc(p->w, stack_id, epoch, size_bytes, hits);
    return slot;
}

void player_death(struct player *p, uint32_t slot)
{
    struct hs_record_v1 *record = region_writer_at(p->w, HS_SECTION_RECORDS, slot);
    uint64_t word = hs_load_relaxed(&record->word);
    uint64_t epoch = hs_load_acquire(&p->w->control->epoch);
    uint64_t cut = hs_load_relaxed(&p->w->control->snapshot_epoch);
    uint64_t peak = hs_load_relaxed(&p->w->control->peak_epoch);
    uint64_t birth = HS_RECORD_EPOCH(word);
    unsigned state = 0;
    if (cut != 0 && birth <= cut && epoch > cut) {
        state |= HS_RECORD_DEAD | HS_RECORD_IN_SNAPSHOT;
    }
    if (peak != 0 && birth <= peak && epoch > peak) {
        state |= HS_RECORD_DEAD | HS_RECORD_IN_PEAK;
    }
    uint64_t dead =
        state ? HS_RECORD_WORD(epoch, HS_RECORD_INTERVAL(word), HS_RECORD_HITS(word), state) : 0;
    require(hs_cas_acq_rel(&record->word, &word, dead));
    if (!state) {
        p->free_slots[p->free_count++] = slot;
        return;
    }
    p->dead[p->dead_count++] = (struct tombstone){ slot, state & HS_RECORD_IN_SNAPSHOT ? cut : 0,
                                                   state & HS_RECORD_IN_PEAK ? peak : 0 };
}

void region_writer_peak(struct region_writer *w, int64_t bytes)
{
    uint64_t epoch = hs_load_relaxed(&w->control->epoch);
    do {
        hs_store_relaxed(&w->control->peak_epoch, epoch);
    } while (!hs_cas_acq_rel(&w->control->epoch, &epoch, epoch + 2));
    hs_store_relaxed(&w->control->peak_bytes, bytes);
    hs_store_relaxed(&w->control->peak_time_ns, 777);
}
