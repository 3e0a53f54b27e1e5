/*
 * The slow paths of the index: placing entries, growing, carrying entries over. See index.h.
 */
#include "client/tables/index.h"

#include <sys/mman.h>

#include "client/host/pages.h"
#include "client/host/sandbox.h"
#include "rt/sys.h"

/* A level grows when one in this many of its lines has an entry outside its first two lines, */
#define SPILL_SHARE 4U
/* and when, of this many lines, each holds this many entries on average, of 8. */
#define LOOK_LINES 64U
#define CROWDED    6U
/* Old lines that each insert carries over; 2 empties the old level before the new one is half
 * full. */
#define MOVE_LINES 2U
/* A level is a hash table, so all of it is touched, in any order: from this size on it uses huge
 * pages. */
#define HUGE_BYTES (UINT64_C(2) << 20)

static uint64_t level_bytes(uint32_t lines)
{
    return (uint64_t)lines * HS_INDEX_LINE * sizeof(uint64_t);
}

/* Gives level `level_no` its slots; a thread that comes second uses the first one's. False: no
 * memory. */
static bool level_init(struct hs_index *index, uint32_t level_no)
{
    struct hs_index_level *level = &index->levels[level_no];
    uint32_t lines = index->first_lines << level_no;
    HS_ASSERT(level_no < HS_INDEX_LEVELS);
    /* ORDER index-level: another thread's slots, whose level we may be the first to publish. */
    uint64_t *slots = hs_load_acquire(&level->slots);
    if (slots) {
        return true;
    }
    uint64_t *mapped = hs_pages_map(level_bytes(lines));
    if (!mapped) {
        return false;
    }
    if (level_bytes(lines) >= HUGE_BYTES) {
        hs_sandbox_advise(mapped, level_bytes(lines), MADV_HUGEPAGE);
    }
    hs_store_relaxed(&level->line_shift, 32 - (uint32_t)hs_log2_floor(lines));
    /* ORDER index-level: as above. */
    if (!hs_cas_acq_rel(&level->slots, &slots, mapped)) {
        hs_pages_unmap(mapped, level_bytes(lines));
    }
    return true;
}

bool hs_index_init(struct hs_index *index, uint32_t lines)
{
    HS_ASSERT(lines >= HS_INDEX_GROUP_LINES && (lines & (lines - 1)) == 0);
    index->first_lines = lines;
    return level_init(index, 0);
}

void hs_index_clear(struct hs_index *index)
{
    for (uint32_t i = 0; i < HS_INDEX_LEVELS && index->levels[i].slots; i++) {
        struct hs_index_level *level = &index->levels[i];
        hs_sys_madvise(level->slots, level_bytes(index->first_lines << i), MADV_DONTNEED);
        level->spill_count = level->move_next = level->move_done = level->move_found = 0;
    }
    index->current = index->oldest = 0;
}

/* Publishes a level of twice the size above `from`. True: there is one now, made by this thread or
 * another. */
static HS_COLD bool grow(struct hs_index *index, uint32_t from)
{
    if (from + 1 >= HS_INDEX_LEVELS || !level_init(index, from + 1)) {
        return false;
    }
    uint32_t expected = from;
    /* ORDER index-level: the new level is complete before its number is seen. */
    hs_cas_acq_rel(&index->current, &expected, from + 1);
    return true;
}

/* Where entries come and go, the count of entries outside their first lines only rises. So the
 * present contents decide whether the level grows, and otherwise the count begins anew. */
static HS_COLD void grow_if_crowded(struct hs_index *index, uint32_t current, uint32_t hash)
{
    struct hs_index_level *level = &index->levels[current];
    uint32_t lines = hs_index_line_count(level);
    uint32_t looked_at = lines < LOOK_LINES ? lines : LOOK_LINES;
    const uint64_t *slot = hs_index_line(level, hash & -(looked_at << level->line_shift), 0);
    uint32_t used = 0;
    for (uint32_t i = 0; i < looked_at * HS_INDEX_LINE; i++) {
        used += hs_load_relaxed(&slot[i]) != 0;
    }
    if (used >= looked_at * CROWDED) {
        grow(index, current);
    } else {
        hs_store_relaxed(&level->spill_count, 0);
    }
}

/* Puts a value into `level` and returns its slot, or NULL when its group is full. */
static uint64_t *place(struct hs_index_level *level, uint32_t hash, uint64_t value,
                       uint32_t *ret_line_no)
{
    for (uint32_t i = 0; i < HS_INDEX_GROUP_LINES; i++) {
        uint64_t *line = hs_index_line(level, hash, i);
        for (uint32_t s = 0; s < HS_INDEX_LINE; s++) {
            uint64_t empty = 0;
            if (hs_load_relaxed(&line[s]) != 0) {
                continue;
            }
            /* ORDER index-slot: the object the id names is complete before the id can be found. */
            if (hs_shared_cas(&line[s], &empty, value)) {
                *ret_line_no = i;
                return &line[s];
            }
        }
    }
    return NULL;
}

static bool clear(uint64_t *slot, uint64_t value)
{
    return hs_cas_relaxed(slot, &value, 0);
}

/* Carries the entries of one line of `old` over to the newest level, because a level in between may
 * be full. True: there were entries. */
static bool move_line(struct hs_index *index, uint32_t old_no, uint32_t newest, uint32_t line_no)
{
    struct hs_index_level *old = &index->levels[old_no];
    uint64_t *line = hs_load_relaxed(&old->slots) + (uint64_t)line_no * HS_INDEX_LINE;
    bool had_any = false;
    for (uint32_t s = 0; s < HS_INDEX_LINE; s++) {
        /* ORDER index-slot: the object is complete; we pass its id on. */
        uint64_t value = hs_load_acquire(&line[s]);
        uint32_t unused;
        if (value == 0) {
            continue;
        }
        had_any = true;
        uint64_t *copy = place(&index->levels[newest], (uint32_t)(value >> 32), value, &unused);
        /* Without room the entry stays for the next pass. If it was removed while it was copied,
         * the copy is removed too. */
        if (copy && !clear(&line[s], value)) {
            clear(copy, value);
        }
    }
    return had_any;
}

static HS_COLD void retire(struct hs_index *index, uint32_t old_no)
{
    struct hs_index_level *old = &index->levels[old_no];
    /*
     * ORDER index-move: read after the count that all threads which moved lines have added to.
     * This thread has carried over the last line. Some entries may have found no room: the lines
     * are passed over again from the start, until a pass meets no entry. Otherwise each search
     * would always look through this level and all levels between it and the newest. (If one thread
     * looked at the whole level at once, that would be a pause: 0.25 GiB for 10 million entries.)
     */
    if (hs_swap_relaxed(&old->move_found, 0) != 0) {
        hs_store_relaxed(&old->move_done, 0);
        hs_store_relaxed(&old->move_next, 0);
        return;
    }
    if (hs_load_relaxed(&index->oldest) == old_no) {
        uint32_t expected = old_no;
        /* ORDER index-oldest: all its entries stand in the newer level. */
        if (hs_cas_acq_rel(&index->oldest, &expected, old_no + 1)) {
            /* Late readers see zeros. Late writers notice that the level is not the newest, and
             * check whether their entry is in any level (hs_index_settle). */
            hs_sandbox_advise(hs_load_relaxed(&old->slots), level_bytes(hs_index_line_count(old)),
                              MADV_DONTNEED);
        }
    }
}

/* Carries some lines over. `current`: the newest level when the caller looked, hence all levels up
 * to it exist. */
static HS_COLD void help_move(struct hs_index *index, uint32_t current)
{
    uint32_t old_no = hs_load_relaxed(&index->oldest);
    if (old_no >= current) {
        return; /* other threads have finished meanwhile */
    }
    struct hs_index_level *old = &index->levels[old_no];
    uint32_t lines = hs_index_line_count(old);
    if (hs_load_relaxed(&old->move_next) >= lines) {
        return;
    }
    uint32_t first = hs_add_relaxed(&old->move_next, MOVE_LINES);
    uint32_t moved = 0, found = 0;
    for (uint32_t line = first; line < first + MOVE_LINES && line < lines; line++) {
        found += move_line(index, old_no, current, line);
        moved++;
    }
    if (found > 0) {
        hs_store_relaxed(&old->move_found, 1);
    }
    /* ORDER index-move: the last to finish sees all lines empty. */
    if (moved > 0 && hs_add_acq_rel(&old->move_done, moved) + moved == lines) {
        retire(index, old_no);
    }
}

/* Removes `value` from one level. False: it is not there (any more). */
static bool take_from(const struct hs_index_level *level, uint64_t value)
{
    for (uint32_t i = 0; i < HS_INDEX_GROUP_LINES; i++) {
        uint64_t *line = hs_index_line(level, (uint32_t)(value >> 32), i);
        for (uint32_t s = 0; s < HS_INDEX_LINE; s++) {
            if (hs_load_relaxed(&line[s]) == value && clear(&line[s], value)) {
                return true;
            }
        }
    }
    return false;
}

static bool is_value(void *ctx, uint32_t id)
{
    return id + 1 == *(const uint32_t *)ctx;
}

static bool is_there(const struct hs_index *index, uint64_t value)
{
    uint32_t id = (uint32_t)value;
    uint64_t found;
    return hs_index_find(index, (uint32_t)(value >> 32), is_value, &id, &found) != NULL;
}

HS_COLD bool hs_index_settle(struct hs_index *index, uint32_t level_no, uint64_t value)
{
    /* The threads that carry over may have overlooked our entry: it is placed anew. If it is not
     * there, it was carried over, or the level was given back at that moment. */
    return (!take_from(&index->levels[level_no], value) && is_there(index, value)) ||
           hs_index_insert_slow(index, (uint32_t)(value >> 32), (uint32_t)value - 1);
}

HS_COLD bool hs_index_insert_slow(struct hs_index *index, uint32_t hash, uint32_t id)
{
    uint64_t value = (uint64_t)hash << 32 | (id + 1);
    HS_ASSERT(id != UINT32_MAX);
    for (int tries = 0; tries < 64; tries++) {
        /* ORDER index-level: a level's fields before its number. */
        uint32_t current = hs_load_acquire(&index->current);
        struct hs_index_level *level = &index->levels[current];
        uint32_t line_no;
        if (!place(level, hash, value, &line_no)) {
            if (!grow(index, current)) {
                return false;
            }
            continue;
        }
        if (line_no >= 2) {
            uint32_t spilled = hs_add_relaxed(&level->spill_count, 1);
            if (spilled > hs_index_line_count(level) / SPILL_SHARE) {
                grow_if_crowded(index, current, hash);
            }
        }
        if (hs_load_relaxed(&index->oldest) != current) {
            help_move(index, current);
        }
        /* ORDER index-level: did the level become an old one, perhaps already emptied? */
        if (hs_load_acquire(&index->current) == current ||
            (!take_from(level, value) && is_there(index, value))) {
            return true;
        }
    }
    return false;
}

HS_COLD bool hs_index_remove_moved(const struct hs_index *index, uint64_t value)
{
    uint32_t hash = (uint32_t)(value >> 32);
    uint32_t id = (uint32_t)value;
    uint64_t *slot;
    uint64_t found;
    while ((slot = hs_index_find(index, hash, is_value, &id, &found)) != NULL) {
        if (clear(slot, found)) {
            return true;
        }
    }
    return false;
}

uint64_t hs_index_bytes(const struct hs_index *index)
{
    uint64_t bytes = 0;
    for (uint32_t i = hs_load_relaxed(&index->oldest); i <= hs_load_relaxed(&index->current); i++) {
        bytes += level_bytes(hs_index_line_count(&index->levels[i]));
    }
    return bytes;
}

void hs_index_renumber(struct hs_index *index, hs_index_renumber_fn *renumber, void *ctx)
{
    for (uint32_t i = hs_load_relaxed(&index->oldest); i <= hs_load_relaxed(&index->current); i++) {
        struct hs_index_level *level = &index->levels[i];
        uint64_t *slots = hs_load_relaxed(&level->slots);
        uint64_t count = (uint64_t)hs_index_line_count(level) * HS_INDEX_LINE;
        for (uint64_t s = 0; s < count; s++) {
            uint64_t value = slots[s];
            if (value != 0) {
                uint32_t id = renumber(ctx, (uint32_t)(value >> 32), (uint32_t)value - 1);
                slots[s] = id == UINT32_MAX ? 0 : (value >> 32 << 32 | (id + 1));
            }
        }
    }
}

#if HS_HAS_CHECKS

/* How often `value` stands in its group of one level. */
static uint32_t count_in(const struct hs_index_level *level, uint64_t value)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < HS_INDEX_GROUP_LINES; i++) {
        const uint64_t *line = hs_index_line(level, (uint32_t)(value >> 32), i);
        for (uint32_t s = 0; s < HS_INDEX_LINE; s++) {
            count += line[s] == value;
        }
    }
    return count;
}

/* Is the entry in line `line_no` of level `level_no` in its group, and nowhere else? */
static bool is_entry_valid(const struct hs_index *index, uint32_t level_no, uint32_t line_no,
                           uint64_t value)
{
    const struct hs_index_level *level = &index->levels[level_no];
    uint32_t first_line = (uint32_t)(value >> 32) >> level->line_shift;
    uint32_t count = 0;
    for (uint32_t i = index->oldest; i <= index->current; i++) {
        count += count_in(&index->levels[i], value);
    }
    return (uint32_t)value != 0 && level_no >= index->oldest &&
           (first_line ^ line_no) < HS_INDEX_GROUP_LINES && count == 1;
}

static bool is_level_valid(const struct hs_index *index, uint32_t level_no)
{
    const struct hs_index_level *level = &index->levels[level_no];
    uint32_t lines = index->first_lines << level_no;
    if (!level->slots || hs_index_line_count(level) != lines || level->move_done > lines ||
        (level_no == index->current && level->move_next != 0)) {
        return false;
    }
    for (uint64_t i = 0; i < (uint64_t)lines * HS_INDEX_LINE; i++) {
        uint64_t value = level->slots[i];
        if (value != 0 && !is_entry_valid(index, level_no, (uint32_t)(i / HS_INDEX_LINE), value)) {
            return false;
        }
    }
    return true;
}

bool hs_index_is_valid(const struct hs_index *index)
{
    uint32_t lines = index->first_lines;
    bool is_valid = lines >= HS_INDEX_GROUP_LINES && (lines & (lines - 1)) == 0 &&
                    index->oldest <= index->current && index->current < HS_INDEX_LEVELS;
    for (uint32_t i = 0; is_valid && i <= index->current; i++) {
        is_valid = is_level_valid(index, i);
    }
    return is_valid;
}

#endif
