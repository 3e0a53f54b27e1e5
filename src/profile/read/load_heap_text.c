/*
 * Reads the heap texts of jemalloc, gperftools and Go.
 *
 *     heap_v2/524288                                    jemalloc: an address line, then threads
 *       t*: 625: 123390 [0: 0]
 *     @ 0x7f31e20a2630 0x55f81d68c197
 *       t*: 1: 1048576 [0: 0]
 *       t0: 1: 1048576 [0: 0]
 *     MAPPED_LIBRARIES:
 *
 *     heap profile: 1: 4096 [ 2: 8192] @ heap_v2/524288 gperftools: figures and addresses in a line
 *          1: 4096 [ 2: 8192] @ 0x7f31e20a2630 0x55f81d68c197
 *
 *     heap profile: 1: 4096 [2: 8192] @ heap/1048576    Go: like gperftools, with comment lines,
 *                                                       see heap_text_go.h
 *
 * The four numbers are live blocks, live bytes, and the blocks and bytes allocated since the start.
 * The text after "@" in the first line says how they were sampled, see unbias.h. jeprof --raw puts
 * a section of names in front.
 *
 * See       load_foreign.h, heap_text_places.h, heap_text_go.h, docs/FORMAT.md
 */
#include <stdlib.h>
#include <string.h>

#include "profile/read/heap_text_go.h"
#include "profile/read/heap_text_places.h"
#include "profile/read/load_foreign.h"
#include "profile/read/text_lines.h"
#include "profile/read/unbias.h"
#include "rt/text.h"
#include "trace/snapshot.h"
#include "util/array.h"

/* The interval that gperftools' own tools assume when the file does not say it. */
#define INTERVAL_BYTES_DEFAULT (128U * 1024U)

struct figures {
    uint64_t live_count, live_bytes, alloc_count, alloc_bytes;
};

struct thread {
    uint64_t tid;
    uint32_t name; /* string id */
    struct hs_amount live;
};

struct reader {
    const struct hs_load_source *source;
    struct hs_heap_places places;
    enum hs_unbias_rule rule;
    uint64_t interval_bytes;
    uint32_t process, heap;
    /* in jemalloc's text: a line of addresses has come; none has come yet */
    bool has_stack, is_head;
    bool has_end; /* the part behind all stacks is there: the map of libraries, or Go's comments */
    bool is_of_go;
    uint32_t node;
    struct hs_profile_sample *samples;
    size_t sample_count, sample_capacity;
    struct hs_amount alloc, live;
    struct hs_intern thread_ids;
    struct thread *threads;
    size_t thread_capacity;
    int err;
};

/* Reads "1: 4096 [ 2: 8192]". */
static bool read_figures(struct hs_line_at *at, struct figures *ret_figures)
{
    struct hs_line_at try = *at;
    struct figures f;
    if (!hs_line_number(&try, 10, &f.live_count) || !hs_line_word(&try, ":") ||
        !hs_line_number(&try, 10, &f.live_bytes) || !hs_line_word(&try, "[") ||
        !hs_line_number(&try, 10, &f.alloc_count) || !hs_line_word(&try, ":") ||
        !hs_line_number(&try, 10, &f.alloc_bytes) || !hs_line_word(&try, "]")) {
        return false;
    }
    *at = try;
    *ret_figures = f;
    return true;
}

static bool has_word(const struct hs_line_at *at, size_t bytes, const char *word)
{
    return memmem(at->at, bytes, word, strlen(word)) != NULL;
}

/*
 * Reads what follows "@" in gperftools' first line: "heapprofile", "heap_v2/524288", "growthz/0".
 */
static void read_kind(struct reader *r, struct hs_line_at at)
{
    hs_line_blanks(&at);
    const char *slash = memchr(at.at, '/', (size_t)(at.end - at.at));
    size_t bytes = slash ? (size_t)(slash - at.at) : (size_t)(at.end - at.at);
    bool is_heapprofile = bytes == strlen("heapprofile") && has_word(&at, bytes, "heapprofile");
    uint64_t interval = 0;
    if (!has_word(&at, bytes, "heap") || is_heapprofile) {
        return; /* every allocation was recorded */
    }
    if (slash) {
        struct hs_line_at number = { .at = slash + 1, .end = at.end };
        (void)hs_line_number(&number, 10, &interval);
    }
    bool is_v2 = has_word(&at, bytes, "_v2");
    r->rule = is_v2 || r->is_of_go ? HS_UNBIAS_V2 : HS_UNBIAS_V1;
    /*
     * Version 1 states the largest distance between samples, which is twice the mean. Go states
     * twice its rate, and samples like version 2.
     */
    r->interval_bytes = is_v2 ? interval : interval / 2;
    r->interval_bytes = r->interval_bytes ? r->interval_bytes : INTERVAL_BYTES_DEFAULT;
}

/* Reads the first line. */
static void read_first(struct reader *r, const struct hs_lines *lines)
{
    struct hs_line_at at = { .at = lines->line, .end = lines->line + lines->bytes };
    struct figures f = { 0 };
    if (hs_line_word(&at, "heap_v2/")) {
        r->rule = HS_UNBIAS_V2;
        r->is_head = true;
        if (!hs_line_number(&at, 10, &r->interval_bytes) || r->interval_bytes == 0) {
            r->source->report->bad_line_count++;
            r->interval_bytes = 1;
        }
        return;
    }
    if (!hs_line_word(&at, "heap profile:") || !read_figures(&at, &f)) {
        r->source->report->bad_line_count++;
        return;
    }
    if (hs_line_word(&at, "@")) {
        read_kind(r, at);
    } else if (f.live_count == f.alloc_count && f.live_bytes == f.alloc_bytes) {
        /* A file too old to say it, from a sampling recorder that does not record what is freed. */
        r->rule = HS_UNBIAS_V1;
        r->interval_bytes = INTERVAL_BYTES_DEFAULT;
    }
}

static void add_sample(struct reader *r, uint32_t node, const struct figures *f)
{
    r->err = hs_array_reserve(&r->samples, &r->sample_capacity, r->sample_count + 1,
                              sizeof(r->samples[0]));
    if (r->err != 0) {
        return;
    }
    struct hs_profile_sample *out = &r->samples[r->sample_count++];
    *out = (struct hs_profile_sample){
        .node = node,
        .heap = r->heap,
        .live = hs_unbias(r->rule, r->interval_bytes, f->live_count, f->live_bytes),
        .alloc = hs_unbias(r->rule, r->interval_bytes, f->alloc_count, f->alloc_bytes),
    };
    hs_amount_add(&r->live, &out->live);
    hs_amount_add(&r->alloc, &out->alloc);
}

static struct thread *thread_of(struct reader *r, uint64_t tid)
{
    uint32_t idx;
    bool is_new = false;
    r->err = hs_array_reserve(&r->threads, &r->thread_capacity, (size_t)r->thread_ids.count + 1,
                              sizeof(r->threads[0]));
    if (r->err == 0) {
        r->err = hs_intern_put(&r->thread_ids, (struct hs_intern_key){ .lo = tid }, &idx, &is_new);
    }
    if (r->err != 0) {
        return NULL;
    }
    if (is_new) {
        r->threads[idx] = (struct thread){ .tid = tid };
    }
    return &r->threads[idx];
}

/* Reads "t3: 1: 4096 [0: 0] name", or with "t*" the sum of all threads. */
static bool read_thread_line(struct reader *r, struct hs_line_at at)
{
    struct figures f;
    uint64_t tid = 0;
    if (!hs_line_word(&at, "t")) {
        return false;
    }
    bool is_sum = hs_line_word(&at, "*");
    if ((!is_sum && !hs_line_number(&at, 10, &tid)) || !hs_line_word(&at, ":") ||
        !read_figures(&at, &f)) {
        return false;
    }
    if (is_sum) {
        if (r->has_stack) {
            add_sample(r, r->node, &f);
        }
        return r->has_stack || r->is_head;
    }
    struct thread *thread = thread_of(r, tid);
    if (thread && r->is_head) {
        hs_line_blanks(&at);
        thread->name = hs_builder_string_n(r->source->builder, at.at, (size_t)(at.end - at.at));
    } else if (thread) {
        struct hs_amount live = hs_unbias(r->rule, r->interval_bytes, f.live_count, f.live_bytes);
        hs_amount_add(&thread->live, &live);
    }
    return true;
}

/* The node of the stack in words, if there is one, else of the addresses. */
static uint32_t node_of(struct reader *r, struct hs_line_at stack, struct hs_lines *lines)
{
    uint32_t node = r->is_of_go ? hs_go_stack(r->source->builder, lines) : HS_NODE_NONE;
    return node != HS_NODE_NONE ? node : hs_heap_places_node(&r->places, stack);
}

static void read_line(struct reader *r, struct hs_lines *lines)
{
    struct hs_line_at at = { .at = lines->line, .end = lines->line + lines->bytes };
    struct figures f;
    if (hs_line_word(&at, "@")) {
        r->node = hs_heap_places_node(&r->places, at);
        r->has_stack = true;
        r->is_head = false;
    } else if (read_figures(&at, &f) && hs_line_word(&at, "@")) {
        add_sample(r, node_of(r, at, lines), &f);
    } else if (!read_thread_line(r, at)) {
        r->source->report->bad_line_count++;
    }
}

static bool is_end(const struct hs_lines *lines)
{
    return hs_lines_starts(lines, "MAPPED_LIBRARIES:") || hs_lines_starts(lines, "--- Memory map:");
}

/* Reads the map of libraries first. It comes last in the file, but stacks need it. */
static void find_maps(struct reader *r, struct hs_lines lines)
{
    while (hs_lines_next(&lines)) {
        if (is_end(&lines)) {
            r->has_end = true;
            hs_heap_places_add_maps(&r->places, &lines);
            return;
        }
    }
}

static void read_all(struct reader *r)
{
    struct hs_lines lines = { .at = (const char *)r->source->data,
                              .end = (const char *)r->source->data + r->source->bytes };
    bool has_first = false;
    bool has_symbols = false;
    find_maps(r, lines);
    r->is_of_go = hs_go_is_text(lines);
    r->has_end |= r->is_of_go;
    while (r->err == 0 && hs_lines_next(&lines)) {
        if (lines.bytes == 0 || lines.line[0] == '#') {
            continue; /* a comment */
        }
        if (is_end(&lines)) {
            break;
        }
        if (hs_lines_starts(&lines, "--- symbol")) {
            has_symbols = true;
            hs_heap_places_add_symbols(&r->places, &lines);
        } else if (!has_first && hs_lines_starts(&lines, "---")) {
            continue; /* "--- heap" */
        } else if (!has_first) {
            has_first = true;
            read_first(r, &lines);
        } else if (lines.is_cut && !r->has_end) {
            r->source->report->damage.is_truncated = true;
        } else {
            read_line(r, &lines);
        }
        r->err = r->err ? r->err : r->places.err;
        r->err = r->err ? r->err : hs_builder_error(r->source->builder);
    }
    /*
     * jemalloc's text always ends with its map of libraries. When the file has names, the map is
     * not needed.
     */
    if (!r->has_end && !has_symbols && r->sample_count > 0) {
        r->source->report->damage.is_truncated = true;
    }
}

static void put_dump(struct reader *r)
{
    struct hs_builder *builder = r->source->builder;
    struct hs_profile_process *process = hs_builder_process_at(builder, r->process);
    if (process && r->places.program != 0) {
        const char *path = hs_builder_text(builder, r->places.program);
        process->exe = r->places.program;
        process->name = hs_builder_string(builder, hs_text_base_name(path));
    }
    if (r->alloc.bytes <= 0 && r->live.bytes > 0) {
        /* jemalloc without prof_accum. */
        r->source->report->has_no_alloc = true;
        r->alloc = r->live;
        for (size_t i = 0; i < r->sample_count; i++) {
            r->samples[i].alloc = r->samples[i].live;
        }
    }
    struct hs_profile_dump dump = {
        .process = r->process,
        .interval_bytes = r->interval_bytes,
        .orig_interval_bytes = r->interval_bytes,
        .has_scaled_counts = true,
        .live = r->live,
        .alloc = r->alloc,
    };
    hs_builder_dump(builder, &dump, r->samples, r->sample_count);
    for (uint32_t i = 0; i < r->thread_ids.count; i++) {
        struct hs_profile_thread thread = {
            .process = r->process,
            .tid = (uint32_t)r->threads[i].tid,
            .name = r->threads[i].name,
            .live = r->threads[i].live,
        };
        hs_builder_thread(builder, &thread);
    }
}

int hs_load_heap_text(const struct hs_load_source *source)
{
    struct hs_profile_process process = { .exit_kind = HS_EXIT_RUNNING };
    struct reader r = { .source = source,
                        .places = { .source = source },
                        .interval_bytes = 1,
                        .process = hs_builder_process(source->builder, &process),
                        .heap = hs_builder_heap(source->builder, "unknown") };
    read_all(&r);
    if (r.err == 0) {
        put_dump(&r);
    }
    free(r.samples);
    free(r.threads);
    hs_intern_deinit(&r.thread_ids);
    hs_heap_places_deinit(&r.places);
    return r.err;
}
