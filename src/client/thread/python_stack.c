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

/* What a thread that runs Python has. */
struct hs_python_cache {
    struct hs_python_walk walk;
    const struct hs_python_interpreter *python; /* whose frames these are */
    uint32_t frame_ids[HS_PYTHON_FRAMES_MAX];   /* of the walk's frames */
    uint32_t others[HS_PYTHON_FRAMES_MAX];      /* the next one outwards at another place */
    uint64_t hashes[HS_PYTHON_FRAMES_MAX + 1];  /* of the frames from each one on */
    uint32_t known_count;                       /* frames that these arrays have; 0: none */
    uint32_t region_number;                     /* for which they are */
    uint32_t ids[STACK_FRAMES_MAX];
    uint32_t count; /* of ids */
    struct hs_python_description words;
};

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

/* --- the walk's frames ------------------------------------------------------------------------ */

/* Is the frame at the same place as the next one inwards? Functions that call themselves are. */
static bool is_as_before(const struct hs_python_walk *walk, uint32_t i)
{
    const struct hs_python_frame *frame = &walk->frames[i];
    return frame->code_va == frame[-1].code_va && frame->at_va == frame[-1].at_va;
}

static uint32_t find_frame(struct hs_place_cache *places, const struct hs_place_reader *reader,
                           const struct hs_python_frame *frame)
{
    const struct hs_script_place place = hs_python_place(frame);
    return frame->code_va != 0 ? hs_place_cache_find(places, reader, &place) : HS_PLACE_NOTHING;
}

/* The number of innermost frames that must be looked for. The others are as they were at the last
 * sample, and so are the places that they are at. */
static uint32_t count_changed(const struct hs_python_cache *cache, struct hs_place_cache *places,
                              const struct hs_place_reader *reader)
{
    const struct hs_python_walk *walk = &cache->walk;
    if (cache->known_count != walk->count || cache->region_number != hs_combined_region_number()) {
        return walk->count;
    }
    for (uint32_t i = walk->changed_count; i < walk->count; i = cache->others[i]) {
        if (find_frame(places, reader, &walk->frames[i]) != cache->frame_ids[i]) {
            return walk->count;
        }
    }
    return walk->changed_count;
}

/* Finds the ids of the walk's frames, and a hash of them and of their groups. HS_PLACE_WRONG: one
 * of them cannot be described. HS_ID_NONE: there is no room. Else 0. */
static uint32_t find_frames(struct hs_python_cache *cache, struct hs_place_cache *places,
                            const struct hs_python_types *types, uint64_t *ret_hash)
{
    const struct hs_python_roots roots = { types, &cache->words };
    const struct hs_place_reader reader = { .describe = hs_python_describe,
                                            .roots = &roots,
                                            .language = HS_LANGUAGE_PYTHON };
    const struct hs_python_walk *walk = &cache->walk;
    uint32_t i = count_changed(cache, places, &reader);
    cache->known_count = 0;
    cache->hashes[walk->count] = HS_LANGUAGE_PYTHON;
    while (i-- > 0) {
        bool is_next = i + 1 < walk->count && is_as_before(walk, i + 1);
        uint32_t id =
            is_next ? cache->frame_ids[i + 1] : find_frame(places, &reader, &walk->frames[i]);
        if (id == HS_PLACE_WRONG || id == HS_ID_NONE) {
            return id;
        }
        cache->frame_ids[i] = id;
        cache->others[i] = is_next ? cache->others[i + 1] : i + 1;
        cache->hashes[i] =
            hs_hash_step(cache->hashes[i + 1], (uint64_t)walk->frames[i].group << 32 | id);
    }
    cache->known_count = walk->count;
    cache->region_number = hs_combined_region_number();
    *ret_hash = hs_hash_step(cache->hashes[0], walk->cut_idx);
    return 0;
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
        if (cache->frame_ids[at] != HS_PLACE_NOTHING) {
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
    uint32_t count;
    const uint32_t *ids = hs_combined_frames(native_id, &count);
    if (!ids || !combine(cache, python, ids, count)) {
        return native_id;
    }
    return hs_combined_intern(native_id, cache->ids, cache->count);
}

/* --- samples ---------------------------------------------------------------------------------- */

static struct hs_layout_trial trial;

/* What the user is told. */
static HS_COLD void note_state(void)
{
    const struct hs_python_interpreters *all = &hs_python_interpreters;
    uint32_t version = 3U << 24 | (uint32_t)all->list[0].types.layout.minor << 16;
    hs_region_note_python(
        hs_layout_is_refused(&trial) ? HS_PYTHON_STATE_REFUSED : HS_PYTHON_STATE_READ, version);
}

static uint32_t add_one(struct hs_python_cache *cache, struct hs_combined_cache *combined,
                        const struct hs_python_interpreter *python, uint32_t native_id)
{
    uint64_t thread_id = (uint64_t)pthread_self(), hash = 0;
    uint64_t state_va = find_state(python, thread_id);
    if (state_va == 0) {
        return native_id;
    }
    struct hs_script_memory memory;
    hs_script_memory_init(&memory, combined->places.pages);
    if (hs_unlikely(cache->python != python)) {
        cache->python = python;
        cache->known_count = 0;
    }
    enum hs_python_result result =
        hs_python_frames_walk(&memory, &python->types, state_va, thread_id, &cache->walk);
    if (result == HS_PYTHON_IDLE) {
        return native_id;
    }
    uint32_t error = result == HS_PYTHON_FOUND
                         ? find_frames(cache, &combined->places, &python->types, &hash)
                         : HS_PLACE_WRONG;
    if (hs_unlikely(hs_layout_count(&trial, error != HS_PLACE_WRONG))) {
        note_state();
    }
    if (error != 0) {
        return native_id;
    }
    uint64_t key = hs_combined_key(native_id, hash);
    struct hs_combined_entry *entry = hs_combined_entry_of(combined, key);
    if (hs_likely(entry->key == key)) {
        return entry->id;
    }
    uint32_t id = make(cache, python, native_id);
    hs_combined_keep(entry, key, id);
    return id;
}

__attribute__((noinline)) uint32_t hs_python_stack_add(struct hs_thread *thread,
                                                       struct hs_combined_cache *combined,
                                                       uint32_t native_id)
{
    struct hs_python_cache *cache = cache_of(thread);
    uint32_t id = native_id;
    if (!cache || hs_layout_is_refused(&trial) || !hs_python_interpreters_enter()) {
        return native_id;
    }
    for (uint32_t i = 0; i < hs_python_interpreters.known && id != HS_ID_NONE; i++) {
        id = add_one(cache, combined, &hs_python_interpreters.list[i], id);
    }
    hs_python_interpreters_leave();
    return id;
}
