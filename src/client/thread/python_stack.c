/*
 * Puts functions of Python into native stacks. See python_stack.h.
 */
#include "client/thread/python_stack.h"

#include <pthread.h>

#include "client/host/pages.h"
#include "client/host/readable_pages.h"
#include "client/patch/python_interpreters.h"
#include "client/tables/code_names.h"
#include "client/tables/region.h"
#include "client/tables/stacks.h"
#include "client/thread/combined_stack.h"
#include "rt/bits.h"
#include "rt/sys.h"

/* The longest stack; of a longer one the innermost and the outermost frames are kept. */
#define STACK_FRAMES_MAX   512U
#define STACK_FRAMES_INNER 383U

#define STACK_ENTRIES      1024U
#define FRAME_ENTRIES      2048U

/* What a thread that runs Python has. */
struct hs_python_cache {
    struct hs_combined_entry stacks[STACK_ENTRIES];
    struct hs_combined_entry frames[FRAME_ENTRIES];
    struct hs_python_walk walk;
    uint32_t frame_ids[HS_PYTHON_FRAMES_MAX]; /* of the walk's frames */
    uint32_t ids[STACK_FRAMES_MAX];
    uint32_t count; /* of ids */
    struct hs_python_description words;
};

/* The number of regions so far: what was found for another one is not used. */
static uint32_t region_number;

void hs_python_stack_clear(void)
{
    hs_add_relaxed(&region_number, 1);
}

/* --- reading memory --------------------------------------------------------------------------- */

/* Implements hs_python_memory.at: this process's own memory. */
static const uint8_t *memory_at(void *ctx, uint64_t va, uint32_t bytes)
{
    (void)ctx;
    return hs_readable_pages_at(&hs_tls.self->pages, va, bytes);
}

static const struct hs_python_memory own_memory = { .at = memory_at };

/* --- the thread's state ----------------------------------------------------------------------- */

/* The state of this thread; 0: the interpreter does not know the thread. A thread that runs several
 * interpreters of one library has a state for each. */
static uint64_t find_state(const struct hs_python_interpreter *python, uint64_t thread_id)
{
    uint64_t own_va = (uint64_t)(uintptr_t)python->state_of_thread(), its_thread = 0;
    if (own_va == 0) {
        return 0;
    }
    uint64_t running_va = (uint64_t)(uintptr_t)python->state_running();
    /* The state of another thread may go at any moment: this reads it by a system call. */
    bool is_ours = running_va != 0 && running_va != own_va &&
                   hs_sys_read_word(running_va + python->types.layout.thread_id, &its_thread) &&
                   its_thread == thread_id;
    return is_ours ? running_va : own_va;
}

/* --- tables ----------------------------------------------------------------------------------- */

static struct hs_python_cache *cache_of(struct hs_thread *thread)
{
    if (hs_unlikely(!thread->python_cache)) {
        thread->python_cache = hs_pages_map_sparse(sizeof(*thread->python_cache));
    }
    return thread->python_cache;
}

static struct hs_combined_entry *entry_of(struct hs_combined_entry *entries, uint32_t count,
                                          uint64_t key)
{
    return &entries[key % count];
}

/* The id of a frame of Python; HS_ID_NONE: it cannot be described, or there is no room. */
static uint32_t frame_id(struct hs_python_cache *cache, const struct hs_python_types *types,
                         const struct hs_python_frame *frame)
{
    uint64_t key = (frame->hash ^ hs_load_relaxed(&region_number)) | 1;
    struct hs_combined_entry *entry = entry_of(cache->frames, FRAME_ENTRIES, key >> 1);
    struct hs_python_description *words = &cache->words;
    if (hs_likely(entry->key == key)) {
        return entry->id;
    }
    if (!hs_python_frame_describe(&own_memory, types, frame, words)) {
        return HS_ID_NONE;
    }
    const struct hs_code_name_v2 name = {
        .function_off = hs_code_text_intern(words->function, words->function_bytes),
        .file_off = hs_code_text_intern(words->file, words->file_bytes),
        .line = words->line,
        .first_line = words->first_line,
        .language = HS_LANGUAGE_PYTHON,
    };
    uint32_t id = hs_code_frame_intern(&name);
    if (id != HS_ID_NONE) {
        hs_combined_keep(entry, key, id);
    }
    return id;
}

/* --- putting a stack together ----------------------------------------------------------------- */

/* Adds a frame further out. If there is no room, a gap opens behind the innermost ones. */
static void put(struct hs_python_cache *cache, uint32_t id)
{
    if (cache->count == STACK_FRAMES_MAX) {
        uint32_t *ids = cache->ids;
        ids[STACK_FRAMES_INNER] = hs_combined_cut_marker();
        for (uint32_t i = STACK_FRAMES_INNER + 1; i + 1 < STACK_FRAMES_MAX; i++) {
            ids[i] = ids[i + 1];
        }
        cache->count--;
    }
    cache->ids[cache->count++] = id;
}

static bool is_eval(const struct hs_python_interpreter *python, uint32_t id)
{
    const struct hs_frame_v1 *frame = hs_region_frame(id);
    return frame && !(frame->flags & (HS_FRAME_MARKER | HS_FRAME_NAMED)) &&
           frame->pc - 1 - python->eval_va < python->eval_bytes;
}

static bool is_marker(uint32_t id, uint64_t *ret_pc)
{
    const struct hs_frame_v1 *frame = hs_region_frame(id);
    *ret_pc = frame ? frame->pc : 0;
    return frame && (frame->flags & HS_FRAME_MARKER);
}

/* Adds all frames of the groups [from, end). */
static uint32_t put_groups(struct hs_python_cache *cache, uint32_t at, uint32_t end_group)
{
    const struct hs_python_walk *walk = &cache->walk;
    for (; at < walk->count && walk->frames[at].group < end_group; at++) {
        if (walk->cut_idx != 0 && at == walk->cut_idx) {
            put(cache, hs_combined_cut_marker());
        }
        if (walk->frames[at].code_va != 0) {
            put(cache, cache->frame_ids[at]);
        }
    }
    return at;
}

/* How native frames of eval and groups are matched. */
struct matching {
    uint32_t eval_count;  /* native frames of eval, */
    uint32_t inner_count; /* and those in front of the native stack's gap; all, if it has none */
    bool has_end;         /* the native stack is whole at its outer end */
};

static struct matching look_at(const struct hs_python_interpreter *python, const uint32_t *ids,
                               uint32_t count)
{
    struct matching m = { .has_end = true };
    bool has_gap = false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t pc;
        if (is_marker(ids[i], &pc)) {
            has_gap |= pc == HS_FRAME_PC_CUT;
            m.has_end &= pc == HS_FRAME_PC_CUT;
        } else if (is_eval(python, ids[i])) {
            m.eval_count++;
            m.inner_count += !has_gap;
        }
    }
    return m;
}

/* The first group that does not belong to the native frame of eval with this number, or to one
 * further in. */
static uint32_t end_of_groups(const struct matching *m, uint32_t eval, uint32_t group_count)
{
    bool is_from_inside =
        !m->has_end || eval < (m->inner_count < m->eval_count ? m->inner_count : 0);
    uint32_t further_out = m->eval_count - 1 - eval;
    return is_from_inside               ? eval + 1
           : further_out >= group_count ? 0 /* it has not begun to run a function */
                                        : group_count - further_out;
}

/* Writes the stack into cache->ids. False: the frames have no place in it. */
static bool combine(struct hs_python_cache *cache, const struct hs_python_interpreter *python,
                    const uint32_t *ids, uint32_t count)
{
    const struct hs_python_walk *walk = &cache->walk;
    const struct matching m = look_at(python, ids, count);
    uint32_t at = 0, eval = 0;
    uint64_t pc;
    cache->count = 0;
    if (m.eval_count == 0 && m.has_end) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool is_last_marker = i + 1 == count && is_marker(ids[i], &pc) && pc != HS_FRAME_PC_CUT;
        if (is_last_marker) {
            /* The walk ended early: what runs further out is known all the same. */
            at = put_groups(cache, at, UINT32_MAX);
            put(cache, ids[i]);
        } else if (!is_eval(python, ids[i])) {
            put(cache, ids[i]);
        } else {
            uint32_t before = cache->count;
            at = put_groups(cache, at, end_of_groups(&m, eval++, walk->group_count));
            if (cache->count == before) {
                put(cache, ids[i]);
            }
        }
    }
    return true;
}

static HS_COLD uint32_t make(struct hs_python_cache *cache,
                             const struct hs_python_interpreter *python, uint32_t native_id)
{
    const struct hs_python_walk *walk = &cache->walk;
    uint32_t count;
    const uint32_t *ids = hs_combined_frames(native_id, &count);
    for (uint32_t i = 0; i < walk->count; i++) {
        const struct hs_python_frame *frame = &walk->frames[i];
        cache->frame_ids[i] = frame->code_va ? frame_id(cache, &python->types, frame) : 0;
        if (cache->frame_ids[i] == HS_ID_NONE) {
            return native_id;
        }
    }
    if (!ids || !combine(cache, python, ids, count)) {
        return native_id;
    }
    return hs_combined_intern(native_id, cache->ids, cache->count);
}

/* --- samples ---------------------------------------------------------------------------------- */

/* So many walks that find nothing usable are taken for a layout that is not as expected. */
#define FAILURES_MAX 64U

/* What the user is told. */
static uint32_t failure_count, success_count;

static HS_COLD void note_state(void)
{
    const struct hs_python_interpreters *all = &hs_python_interpreters;
    bool is_refused =
        hs_load_relaxed(&success_count) == 0 && hs_load_relaxed(&failure_count) > FAILURES_MAX;
    uint32_t version = 3U << 24 | (uint32_t)all->list[0].types.layout.minor << 16;
    hs_region_note_python(is_refused ? HS_PYTHON_STATE_REFUSED : HS_PYTHON_STATE_READ, version);
}

static void count_result(bool is_useful)
{
    uint32_t *count = is_useful ? &success_count : &failure_count;
    uint32_t before = hs_load_relaxed(count);
    if (hs_unlikely(before <= FAILURES_MAX)) {
        hs_store_relaxed(count, before + 1);
        note_state();
    }
}

static bool is_refused(void)
{
    return hs_load_relaxed(&failure_count) > FAILURES_MAX && hs_load_relaxed(&success_count) == 0;
}

static uint32_t add_one(struct hs_python_cache *cache, const struct hs_python_interpreter *python,
                        uint32_t native_id)
{
    uint64_t thread_id = (uint64_t)pthread_self();
    uint64_t state_va = find_state(python, thread_id);
    if (state_va == 0) {
        return native_id;
    }
    enum hs_python_result result =
        hs_python_frames_walk(&own_memory, &python->types, state_va, thread_id, &cache->walk);
    if (result == HS_PYTHON_IDLE) {
        return native_id;
    }
    count_result(result == HS_PYTHON_FOUND);
    if (result != HS_PYTHON_FOUND) {
        return native_id;
    }
    uint64_t key =
        hs_hash_step(cache->walk.hash, (uint64_t)native_id << 32 | hs_load_relaxed(&region_number));
    key = hs_mix64(key) | 1;
    struct hs_combined_entry *entry = entry_of(cache->stacks, STACK_ENTRIES, key >> 1);
    if (hs_likely(entry->key == key)) {
        return entry->id;
    }
    uint32_t id = make(cache, python, native_id);
    if (id != HS_ID_NONE) {
        hs_combined_keep(entry, key, id);
    }
    return id;
}

__attribute__((noinline)) uint32_t hs_python_stack_add(struct hs_thread *thread, uint32_t native_id)
{
    struct hs_python_cache *cache = cache_of(thread);
    uint32_t id = native_id;
    if (!cache || is_refused() || !hs_python_interpreters_enter()) {
        return native_id;
    }
    hs_readable_pages_begin(&thread->pages);
    for (uint32_t i = 0; i < hs_python_interpreters.known && id != HS_ID_NONE; i++) {
        id = add_one(cache, &hs_python_interpreters.list[i], id);
    }
    hs_python_interpreters_leave();
    return id;
}
