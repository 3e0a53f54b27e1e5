/*
 * Puts the frames of scripts into native stacks. See script_stack.h.
 */
#include "client/thread/script_stack.h"

#include "client/host/pages.h"
#include "client/patch/script_runtimes.h"
#include "client/tables/code_names.h"
#include "client/tables/region.h"
#include "client/tables/stacks.h"
#include "client/thread/combined_stack.h"
#include "client/thread/python_stack.h"
#include "rt/bits.h"

/* The longest stack; of a longer one the outermost frames are left out. */
#define STACK_FRAMES_MAX 512U
#define LOOP_ENTRIES     512U

/* What is known of a native stack: its run loops. */
struct loop_entry {
    uint64_t key;     /* of the stack and the region; 0: unused */
    uint32_t runtime; /* whose loops they are */
    uint32_t count;   /* 0: none */
};

/* What a thread has whose stacks have had run loops. */
struct hs_script_cache {
    struct loop_entry loops[LOOP_ENTRIES];
    /* The frames that were read last, innermost first, and for each group of them the index of the
     * first frame behind it. */
    uint32_t frame_ids[HS_SCRIPT_FRAMES_MAX];
    uint32_t group_ends[HS_SCRIPT_FRAMES_MAX];
    uint32_t frame_count, group_count;
    struct hs_place_cache *places;
    struct hs_place_reader reader;
    bool is_cut;                    /* the script's stack is deeper */
    bool is_full;                   /* a table of the region */
    uint32_t ids[STACK_FRAMES_MAX]; /* the stack that is put together */
    uint32_t count;
};

static struct hs_script_cache *cache_of(struct hs_thread *thread)
{
    if (hs_unlikely(!thread->script_cache)) {
        thread->script_cache = hs_pages_map_sparse(sizeof(*thread->script_cache));
    }
    return thread->script_cache;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Implements hs_script_sink.add. */
static enum hs_script_added add_frame(void *ctx, const struct hs_script_place *place)
{
    struct hs_script_cache *cache = ctx;
    if (cache->frame_count == HS_SCRIPT_FRAMES_MAX) {
        return HS_SCRIPT_NO_ROOM;
    }
    uint32_t id = hs_place_cache_find(cache->places, &cache->reader, place);
    if (id == HS_PLACE_NOTHING) {
        return HS_SCRIPT_SKIPPED;
    }
    if (id == HS_PLACE_WRONG) {
        return HS_SCRIPT_WRONG;
    }
    cache->is_full |= id == HS_ID_NONE;
    cache->frame_ids[cache->frame_count++] = id;
    return id != HS_ID_NONE ? HS_SCRIPT_ADDED : HS_SCRIPT_NO_ROOM;
}

/* Implements hs_script_sink.end_entry. */
static void end_group(void *ctx, uint32_t frame_count)
{
    struct hs_script_cache *cache = ctx;
    if (cache->group_count < HS_SCRIPT_FRAMES_MAX) {
        cache->group_ends[cache->group_count++] = frame_count;
    }
}

static struct hs_layout_trial trials[HS_LANGUAGE_N];

static HS_COLD void note_state(uint32_t language)
{
    hs_code_names_note_state(language, hs_layout_is_refused(&trials[language])
                                           ? HS_SCRIPT_STATE_REFUSED
                                           : HS_SCRIPT_STATE_READ);
}

/* Reads the frames of the thread. False: there are none that can be used. */
static bool read_frames(struct hs_script_cache *cache, const struct hs_script_runtime *runtime,
                        struct hs_place_cache *places)
{
    const struct hs_script_sink sink = { .add = add_frame, .end_entry = end_group, .ctx = cache };
    struct hs_script_memory memory;
    cache->frame_count = cache->group_count = 0;
    cache->is_full = false;
    cache->places = places;
    cache->reader = (struct hs_place_reader){ .describe = runtime->describe,
                                              .roots = hs_script_runtime_roots(runtime),
                                              .language = runtime->language };
    hs_script_memory_init(&memory, places->pages);
    enum hs_script_end end = hs_script_runtime_read(runtime, &memory, &sink);
    bool is_known = end == HS_SCRIPT_WHOLE || end == HS_SCRIPT_CUT;
    cache->is_cut = end == HS_SCRIPT_CUT;
    if (cache->is_cut && cache->frame_count > 0) {
        cache->frame_ids[cache->frame_count - 1] = hs_combined_cut_marker();
    }
    if (end != HS_SCRIPT_NONE &&
        hs_unlikely(hs_layout_count(&trials[runtime->language], is_known))) {
        note_state(runtime->language);
    }
    return is_known && !cache->is_full && cache->frame_count > 0;
}

/* --- run loops -------------------------------------------------------------------------------- */

static bool is_loop(const struct hs_script_runtime *runtime, uint32_t frame_id)
{
    const struct hs_frame_v1 *frame = hs_region_frame(frame_id);
    bool is = false;
    for (unsigned i = 0; frame && i < HS_SCRIPT_LOOPS; i++) {
        is |= !(frame->flags & (HS_FRAME_MARKER | HS_FRAME_NAMED)) &&
              frame->pc - 1 - runtime->loops[i].start_va < runtime->loops[i].bytes;
    }
    return is;
}

static HS_COLD void look_for_loops(uint32_t native_id, struct loop_entry *entry)
{
    uint32_t count;
    const uint32_t *ids = hs_combined_frames(native_id, &count);
    entry->count = 0;
    for (uint32_t r = 0; ids && r < hs_script_runtimes.count && entry->count == 0; r++) {
        for (uint32_t i = 0; i < count; i++) {
            entry->count += is_loop(&hs_script_runtimes.list[r], ids[i]);
        }
        entry->runtime = r;
    }
}

/* What is known of the run loops of a native stack. */
static const struct loop_entry *loops_of(struct hs_script_cache *cache, uint32_t native_id,
                                         uint32_t runtime_count)
{
    /* An interpreter that is found later may be in stacks that are known already. */
    uint64_t key = (uint64_t)native_id << 32 | (uint64_t)runtime_count << 24 |
                   (hs_combined_region_number() & 0xffffff);
    struct loop_entry *entry = &cache->loops[native_id % LOOP_ENTRIES];
    if (hs_unlikely(entry->key != key)) {
        entry->key = 0;
        hs_signal_fence();
        look_for_loops(native_id, entry);
        hs_signal_fence();
        entry->key = key;
    }
    return entry;
}

/* --- putting a stack together ----------------------------------------------------------------- */

static void put(struct hs_script_cache *cache, uint32_t id)
{
    if (cache->count < STACK_FRAMES_MAX) {
        cache->ids[cache->count++] = id;
    }
}

/* The number of frames up to the end of the groups that belong to the loop with this number. */
static uint32_t frames_up_to(const struct hs_script_cache *cache, uint32_t loop,
                             uint32_t loop_count)
{
    bool is_unclear = loop_count > cache->group_count && !cache->is_cut;
    bool is_last = loop + 1 >= loop_count || loop >= cache->group_count;
    return is_unclear || is_last ? cache->frame_count : cache->group_ends[loop];
}

static void combine(struct hs_script_cache *cache, const struct hs_script_runtime *runtime,
                    const uint32_t *ids, uint32_t count, uint32_t loop_count)
{
    uint32_t at = 0, loop = 0;
    cache->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t before = cache->count;
        if (is_loop(runtime, ids[i])) {
            uint32_t end = frames_up_to(cache, loop++, loop_count);
            for (; at < end; at++) {
                put(cache, cache->frame_ids[at]);
            }
        }
        if (cache->count == before) {
            put(cache, ids[i]);
        }
    }
    if (cache->count == STACK_FRAMES_MAX) {
        cache->ids[STACK_FRAMES_MAX - 1] = hs_combined_cut_marker();
    }
}

static HS_COLD uint32_t make(struct hs_script_cache *cache, const struct loop_entry *loops,
                             uint32_t native_id)
{
    uint32_t count;
    const uint32_t *ids = hs_combined_frames(native_id, &count);
    if (!ids) {
        return native_id;
    }
    combine(cache, &hs_script_runtimes.list[loops->runtime], ids, count, loops->count);
    return hs_combined_intern(native_id, cache->ids, cache->count);
}

static uint64_t hash_frames(const struct hs_script_cache *cache)
{
    uint64_t hash = cache->reader.language;
    for (uint32_t i = 0; i < cache->frame_count; i++) {
        hash = hs_hash_step(hash, cache->frame_ids[i]);
    }
    for (uint32_t i = 0; i < cache->group_count; i++) {
        hash = hs_hash_step(hash, cache->group_ends[i]);
    }
    return hash;
}

/* The id of the stack with the frames of one of the runtimes. */
static uint32_t add_runtime(struct hs_thread *thread, struct hs_combined_cache *combined,
                            uint32_t native_id, uint32_t runtime_count)
{
    struct hs_script_cache *cache = cache_of(thread);
    if (!cache || native_id == HS_ID_NONE) {
        return native_id;
    }
    const struct loop_entry *loops = loops_of(cache, native_id, runtime_count);
    if (loops->count == 0 ||
        hs_layout_is_refused(&trials[hs_script_runtimes.list[loops->runtime].language]) ||
        !read_frames(cache, &hs_script_runtimes.list[loops->runtime], &combined->places)) {
        return native_id;
    }
    uint64_t key = hs_combined_key(native_id, hash_frames(cache));
    struct hs_combined_entry *entry = hs_combined_entry_of(combined, key);
    if (hs_likely(entry->key == key)) {
        return entry->id;
    }
    uint32_t id = make(cache, loops, native_id);
    hs_combined_keep(entry, key, id);
    return id;
}

__attribute__((noinline)) uint32_t hs_script_stack_add(struct hs_thread *thread, uint32_t native_id)
{
    uint32_t id = native_id;
    if (hs_load_relaxed(&hs_control_page.control.flags) & HS_CONTROL_NATIVE_ONLY) {
        return native_id;
    }
    struct hs_combined_cache *combined = hs_combined_begin(thread);
    if (!combined) {
        return native_id;
    }
    if (hs_python_interpreters_are_there()) {
        id = hs_python_stack_add(thread, combined, id);
    }
    /* ORDER script-runtime: all that is known of these interpreters. */
    uint32_t runtime_count = hs_load_acquire(&hs_script_runtimes.count);
    return runtime_count == 0 ? id : add_runtime(thread, combined, id, runtime_count);
}
