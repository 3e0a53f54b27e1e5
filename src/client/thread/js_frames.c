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

/* Functions that a thread remembers: a new one replaces another in the same place. */
#define KNOWN_COUNT 1024U

/* A function that was read before. */
struct known {
    struct hs_js_identity identity;
    uint32_t frame_id;
    uint32_t serial; /* the cache's when it was entered */
};

/* Functions of the walk that goes on, of which a stack may have many frames. */
#define SEEN_COUNT 64U
struct seen {
    uint64_t function;
    uint32_t frame_id;
    uint64_t walk; /* the walk's number */
};

/* What a thread knows. About 90 KiB, of which only touched pages count. */
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

/* The frame of the function that `function` refers to. HS_ID_NONE: it is none, or there is no
 * room. A function that is known needs no check of the context beside it. */
static uint32_t find(struct hs_js_cache *cache, const struct hs_v8 *v8, uint64_t context,
                     uint64_t function)
{
    struct hs_js_identity identity;
    if (!hs_js_function_identify(v8, function, &identity)) {
        return HS_ID_NONE;
    }
    struct known *known = &cache->known[hs_mix64(identity.shared) % KNOWN_COUNT];
    if (known->serial == cache->serial && is_same(&known->identity, &identity)) {
        return known->frame_id;
    }
    bool is_function =
        hs_js_is_context(v8, context) && hs_js_function_read(v8, function, &identity, &cache->name);
    uint32_t id = is_function ? intern(&cache->name) : HS_ID_NONE;
    if (id != HS_ID_NONE) {
        known->identity = identity;
        known->frame_id = id;
        known->serial = cache->serial;
    }
    return id;
}

/* Implements hs_unwinder.name_frame. */
static bool name_frame(struct hs_stack_reader *reader, uint64_t sp, uint64_t bp,
                       bool *ret_is_lasting, uint32_t *ret_user)
{
    uint64_t context, function;
    /* ORDER v8: V8's layout, which is whole. */
    if (!hs_load_acquire(&has_layout) ||
        (hs_load_relaxed(&hs_control_page.control.flags) & HS_CONTROL_NATIVE_ONLY)) {
        return false;
    }
    struct hs_v8 v8 = { .layout = &layout };
    uint64_t context_va = bp + (uint64_t)(int64_t)layout.value[HS_V8_FRAME_CONTEXT];
    uint64_t function_va = bp + (uint64_t)(int64_t)layout.value[HS_V8_FRAME_FUNCTION];
    if (function_va < sp || function_va > bp || !hs_stack_read(reader, context_va, &context) ||
        !hs_v8_is_object(&v8, context)) {
        return false; /* most often the type of a frame that is no function's */
    }
    /* From here on, the answer depends on V8's heap. */
    *ret_is_lasting = false;
    struct hs_js_cache *cache = cache_of(hs_tls.self);
    if (!cache || !hs_stack_read(reader, function_va, &function)) {
        return false;
    }
    v8.memory = (struct hs_js_memory){ .read = hs_readable_pages_copy, .ctx = &hs_tls.self->pages };
    struct seen *seen = &cache->seen[hs_mix64(function) % SEEN_COUNT];
    if (seen->walk != cache->walk || seen->function != function) {
        *seen = (struct seen){ function, find(cache, &v8, context, function), cache->walk };
    }
    if (seen->frame_id != HS_ID_NONE) {
        *ret_user = seen->frame_id;
    }
    return seen->frame_id != HS_ID_NONE;
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
