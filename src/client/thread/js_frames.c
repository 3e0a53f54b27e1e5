/*
 * Names JavaScript frames. See js_frames.h.
 */
#include "client/thread/js_frames.h"

#include "client/host/linkmap.h"
#include "client/host/pages.h"
#include "client/host/readable_pages.h"
#include "client/tables/code_names.h"
#include "client/tables/region.h"
#include "client/tables/stacks.h"
#include "rt/base.h"
#include "rt/bits.h"
#include "unwind/reader.h"
#include "v8/js_function.h"

/* Functions that a thread remembers, in sets: a new one replaces the one of its set that was not
 * met for the longest time. To read a function again takes 10 us and more, mostly for its line. So
 * two that replaced each other would cost more than all else. */
#define KNOWN_COUNT 2048U
#define KNOWN_WAYS  4U

/* A function that was read before. */
struct known {
    struct hs_js_identity identity;
    uint32_t frame_id;
    uint32_t serial; /* the cache's when it was entered */
    uint64_t era;  /* of the thread's pages, when all that the identity is read from was readable */
    uint64_t walk; /* the number of the last walk with it */
};

/* Function objects of the latest stacks: a stack may have many frames of one, and the next stack
 * will have most of them again. */
#define SEEN_COUNT 256U
struct seen {
    uint64_t function;
    uint32_t frame_id;
    uint32_t known_idx; /* if frame_id is not HS_ID_NONE */
    uint64_t walk;      /* the number of the last walk with it */
    uint64_t era;       /* of the thread's pages, when the object was readable */
};

/* What a thread knows. About 220 KiB, of which only touched pages count. */
struct hs_js_cache {
    uint32_t serial; /* entries with another one are forgotten */
    uint64_t walk;   /* the number of the present one */
    struct seen seen[SEEN_COUNT];
    struct hs_js_name name; /* room for the function that is read at this moment */
    struct known known[KNOWN_COUNT];
};

static struct hs_v8_layout layout; /* whole when `has_layout`; all threads write the same */
static bool has_layout;

static uint64_t find_symbol(void *ctx, const char *name)
{
    return (uint64_t)(uintptr_t)hs_linkmap_symbol(ctx, name);
}

static struct hs_js_cache *cache_of(struct hs_thread *thread)
{
    if (!thread->js_cache) {
        struct hs_js_cache *cache = hs_pages_map_sparse(sizeof(*cache));
        if (cache) {
            hs_readable_pages_begin(&thread->pages);
            cache->serial = 1;
            cache->walk = 1;
        }
        thread->js_cache = cache;
    }
    return thread->js_cache;
}

void hs_js_frames_begin_walk(struct hs_thread *thread)
{
    if (hs_unlikely(thread->js_cache != NULL)) {
        hs_readable_pages_begin(&thread->pages);
        thread->js_cache->walk++;
    }
}

void hs_js_frames_forget(struct hs_thread *thread)
{
    if (thread->js_cache) {
        thread->js_cache->serial++;
    }
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The frame for a function that has been read. */
static uint32_t intern(const struct hs_js_name *read)
{
    static const char anonymous[] = "(anonymous)";
    struct hs_code_name_v2 name = { .line = read->line,
                                    .first_line = read->line,
                                    .language = HS_LANGUAGE_JAVASCRIPT };
    name.function_off = read->function_bytes > 0
                            ? hs_code_text_intern(read->function, read->function_bytes)
                            : hs_code_text_intern(anonymous, sizeof(anonymous) - 1);
    name.file_off = hs_code_text_intern(read->file, read->file_bytes);
    bool has_texts = name.function_off != 0 && (name.file_off != 0 || read->file_bytes == 0);
    return has_texts ? hs_code_frame_intern(&name) : HS_ID_NONE;
}

static bool is_same(const struct hs_js_identity *a, const struct hs_js_identity *b)
{
    return a->shared == b->shared && a->shared_map == b->shared_map && a->name == b->name &&
           a->script == b->script && a->script_map == b->script_map &&
           a->script_name == b->script_name && a->script_number == b->script_number &&
           a->number == b->number;
}

/* When a function was met last; 0: the entry is unused. */
static uint64_t last_walk(const struct hs_js_cache *cache, const struct known *known)
{
    return known->serial == cache->serial ? known->walk : 0;
}

/* The place of a function: where it is known, or the one that it replaces. */
static struct known *known_of(struct hs_js_cache *cache, const struct hs_js_identity *identity)
{
    struct known *set =
        &cache->known[hs_mix64(identity->shared) % (KNOWN_COUNT / KNOWN_WAYS) * KNOWN_WAYS];
    struct known *oldest = set;
    for (struct known *known = set; known < set + KNOWN_WAYS; known++) {
        if (known->serial == cache->serial && is_same(&known->identity, identity)) {
            return known;
        }
        oldest = last_walk(cache, known) < last_walk(cache, oldest) ? known : oldest;
    }
    return oldest;
}

/* The frame of the function that `function` refers to. HS_ID_NONE: it is none, or there is no
 * room. A function that is known needs no check of the context beside it. */
static uint32_t find(struct hs_js_cache *cache, const struct hs_v8 *v8, uint64_t context,
                     uint64_t function, uint32_t *ret_known_idx)
{
    struct hs_js_identity identity;
    if (!hs_js_function_identify(v8, function, &identity)) {
        return HS_ID_NONE;
    }
    struct known *known = known_of(cache, &identity);
    *ret_known_idx = (uint32_t)(known - cache->known);
    if (known->serial == cache->serial && is_same(&known->identity, &identity)) {
        known->walk = cache->walk;
        known->era = hs_tls.self->pages.era;
        return known->frame_id;
    }
    bool is_function =
        hs_js_is_context(v8, context) && hs_js_function_read(v8, function, &identity, &cache->name);
    uint32_t id = is_function ? intern(&cache->name) : HS_ID_NONE;
    if (id != HS_ID_NONE) {
        known->serial = 0; /* a signal handler may leave by longjmp in between */
        hs_signal_fence();
        known->identity = identity;
        known->frame_id = id;
        known->walk = cache->walk;
        known->era = hs_tls.self->pages.era;
        hs_signal_fence();
        known->serial = cache->serial;
    }
    return id;
}

/* Does a function object that an earlier walk has met still lead to the same function? Reads the
 * words of its identity as hs_js_function_identify does, without asking for pages: they were
 * readable in this era. */
static bool is_still(const struct hs_js_cache *cache, const struct seen *seen, uint64_t era)
{
    const struct known *known = &cache->known[seen->known_idx];
    return seen->frame_id != HS_ID_NONE && seen->era == era && known->era == era &&
           known->serial == cache->serial && known->frame_id == seen->frame_id &&
           hs_js_function_is(&layout, seen->function, &known->identity);
}

/* The entry of a function object, or the one that it replaces: of two, that of the older walk. */
static struct seen *seen_of(struct hs_js_cache *cache, uint64_t function)
{
    uint64_t idx = hs_mix64(function) % SEEN_COUNT;
    struct seen *first = &cache->seen[idx], *second = &cache->seen[idx ^ 1];
    return first->function == function    ? first
           : second->function == function ? second
           : first->walk < second->walk   ? first
                                          : second;
}

/* The frame of the function that a word of a frame refers to: `find`, once in a walk. */
static uint32_t find_in_walk(struct hs_thread *thread, uint64_t context, uint64_t function)
{
    const struct hs_v8 v8 = { .layout = &layout,
                              .memory = { .read = hs_readable_pages_copy, .ctx = &thread->pages } };
    struct hs_js_cache *cache = thread->js_cache;
    struct seen *seen = seen_of(cache, function);
    bool is_known = seen->function == function &&
                    (seen->walk == cache->walk || is_still(cache, seen, thread->pages.era));
    if (is_known && seen->frame_id != HS_ID_NONE) {
        cache->known[seen->known_idx].walk = cache->walk;
    } else if (!is_known) {
        seen->function = 0;
        hs_signal_fence();
        seen->frame_id = find(cache, &v8, context, function, &seen->known_idx);
        seen->era = thread->pages.era;
        hs_signal_fence();
        seen->function = function;
    }
    seen->walk = cache->walk;
    return seen->frame_id;
}

static bool is_object(uint64_t word)
{
    return hs_v8_is_object(&(struct hs_v8){ .layout = &layout }, word);
}

static uint64_t context_at(uint64_t bp)
{
    return bp + (uint64_t)(int64_t)layout.value[HS_V8_FRAME_CONTEXT];
}

static uint64_t function_at(uint64_t bp)
{
    return bp + (uint64_t)(int64_t)layout.value[HS_V8_FRAME_FUNCTION];
}

/* Implements hs_unwinder.name_frame. */
static bool name_frame(struct hs_stack_reader *reader, uint64_t sp, uint64_t bp,
                       bool *ret_is_lasting, uint32_t *ret_user)
{
    uint64_t context, function;
    /* ORDER v8: V8's layout, which is whole. */
    if (!hs_load_acquire(&has_layout) ||
        (hs_load_relaxed(&hs_control_page.control.flags) & HS_CONTROL_NATIVE_ONLY) ||
        function_at(bp) < sp || function_at(bp) > bp ||
        !hs_stack_peek(reader, context_at(bp), &context)) {
        return false;
    }
    if (!is_object(context)) {
        /* Most often the type of a frame that is no function's. */
        return hs_stack_read(reader, context_at(bp), &context) && false;
    }
    if (!cache_of(hs_tls.self) || !hs_stack_peek(reader, function_at(bp), &function)) {
        *ret_is_lasting = false;
        return false;
    }
    /* The words are not among those that the walk depends on: the collector moves functions, and
     * each call may have a context of its own. The function is looked up at each replay. */
    uint32_t user = find_in_walk(hs_tls.self, context, function);
    hs_stack_note(reader, &(struct hs_vm_note){ .kind = HS_VM_NOTE_FUNCTION,
                                                .at = bp - reader->base_va,
                                                .user = user });
    if (user != HS_ID_NONE) {
        *ret_user = user;
    }
    return user != HS_ID_NONE;
}

bool hs_js_frames_find_again(struct hs_thread *thread, uint64_t bp, uint32_t *ret_user)
{
    uint64_t context = hs_stack_load(context_at(bp), 0);
    if (!thread->js_cache || !is_object(context)) {
        return false;
    }
    *ret_user = find_in_walk(thread, context, hs_stack_load(function_at(bp), 0));
    return true;
}

hs_name_frame_fn hs_js_frames_find_runtime(void)
{
    const struct link_map *map = NULL;
    struct hs_v8_layout read;
    const struct hs_js_memory memory = { .read = hs_readable_pages_copy,
                                         .ctx = &hs_tls.self->pages };
    hs_readable_pages_begin(&hs_tls.self->pages);
    if (!hs_linkmap_search(NULL, NULL, "v8dbg_off_fp_function", &map) ||
        hs_v8_layout_read(&memory, find_symbol, (void *)(uintptr_t)map, &read) != HS_V8_READ) {
        if (map || hs_linkmap_search(NULL, NULL, "_ZN2v82V810GetVersionEv", NULL)) {
            hs_code_names_note_state(HS_LANGUAGE_JAVASCRIPT, HS_SCRIPT_STATE_UNKNOWN);
        }
        return NULL;
    }
    for (uint32_t i = 0; i < HS_V8_VALUE_N; i++) {
        hs_store_relaxed(&layout.value[i], read.value[i]);
    }
    /* ORDER v8: the layout before it counts as known. */
    hs_store_release(&has_layout, true);
    return name_frame;
}
