/*
 * Reads collapsed stacks, the format that flame graph tools read and write.
 *
 *     main;load;parse 4096
 *     main;load 512
 *
 * Frames are listed from the outermost on, then comes a number, which is taken as live bytes. When
 * every line has two numbers, as in files of differences, the figure is the second minus the first.
 * Lines that begin with # are comments.
 *
 * See       load_foreign.h, docs/FORMAT.md
 */
#include <stdlib.h>

#include "profile/read/load_foreign.h"
#include "profile/read/text_lines.h"
#include "trace/snapshot.h"
#include "util/array.h"

#define STACK_DEPTH_MAX 16384
#define DIGITS_MAX      64

struct reader {
    const struct hs_load_source *source;
    bool is_difference;
    uint32_t module, heap;
    struct hs_profile_sample *samples; /* one for each stack */
    size_t count, capacity;
    uint32_t *places; /* by node: index in samples + 1; 0: none yet */
    size_t place_count, place_capacity;
    struct hs_amount live;
    int err;
};

/* Takes the number from the end of the text. False when there is none. */
static bool take_number(const char *text, size_t *bytes, double *ret_number)
{
    size_t from = *bytes;
    while (from > 0 &&
           ((text[from - 1] >= '0' && text[from - 1] <= '9') || text[from - 1] == '.')) {
        from--;
    }
    size_t digits = *bytes - from;
    from -= from > 0 && text[from - 1] == '-';
    if (digits == 0 || digits + 2 > DIGITS_MAX || from < 1 || !hs_lines_is_blank(text[from - 1])) {
        return false;
    }
    char number[DIGITS_MAX];
    memcpy(number, text + from, *bytes - from);
    number[*bytes - from] = '\0';
    char *end;
    double value = strtod(number, &end);
    if (*end != '\0') {
        return false; /* "1.2.3" */
    }
    while (from > 0 && hs_lines_is_blank(text[from - 1])) {
        from--;
    }
    *bytes = from;
    *ret_number = value;
    return from > 0;
}

static bool is_stack(const struct hs_lines *lines)
{
    return lines->bytes > 0 && lines->line[0] != '#';
}

static bool has_two_numbers(struct hs_lines lines)
{
    bool has_any = false;
    while (hs_lines_next(&lines)) {
        size_t bytes = lines.bytes;
        double number;
        if (!is_stack(&lines) || !take_number(lines.line, &bytes, &number)) {
            continue;
        }
        if (!take_number(lines.line, &bytes, &number)) {
            return false;
        }
        has_any = true;
    }
    return has_any;
}

static uint32_t node_of(struct reader *r, const char *text, size_t bytes)
{
    struct hs_builder *builder = r->source->builder;
    uint32_t node = HS_NODE_NONE;
    const char *end = text + bytes;
    for (int depth = 0; text < end && depth < STACK_DEPTH_MAX; depth++) {
        const char *stop = memchr(text, ';', (size_t)(end - text));
        stop = stop ? stop : end;
        if (stop > text) {
            struct hs_builder_frame frame = {
                .module = r->module,
                .name = hs_builder_string_n(builder, text, (size_t)(stop - text)),
                .kind = text[0] == '[' ? HS_FRAME_KIND_MARKER : HS_FRAME_KIND_NATIVE,
            };
            node = hs_builder_node(builder, node, hs_builder_frame(builder, &frame));
        }
        text = stop < end ? stop + 1 : end;
    }
    return node;
}

/* The sample of a stack, a new one when there is none yet. NULL after a failure, which is kept. */
static struct hs_profile_sample *sample_of(struct reader *r, uint32_t node)
{
    r->err =
        hs_array_reserve(&r->places, &r->place_capacity, (size_t)node + 1, sizeof(r->places[0]));
    if (r->err == 0) {
        for (; r->place_count <= node; r->place_count++) {
            r->places[r->place_count] = 0;
        }
        if (r->places[node] != 0) {
            return &r->samples[r->places[node] - 1];
        }
        r->err = hs_array_reserve(&r->samples, &r->capacity, r->count + 1, sizeof(r->samples[0]));
    }
    if (r->err < 0) {
        return NULL;
    }
    r->samples[r->count] = (struct hs_profile_sample){ .node = node, .heap = r->heap };
    r->places[node] = (uint32_t)++r->count;
    return &r->samples[r->count - 1];
}

static void read_stack(struct reader *r, const struct hs_lines *lines)
{
    size_t bytes = lines->bytes;
    double value = 0, before = 0;
    bool is_good = take_number(lines->line, &bytes, &value) &&
                   (!r->is_difference || take_number(lines->line, &bytes, &before));
    uint32_t node = is_good ? node_of(r, lines->line, bytes) : HS_NODE_NONE;
    if (node == HS_NODE_NONE) {
        r->source->report->bad_line_count++;
        return;
    }
    struct hs_profile_sample *out = sample_of(r, node);
    if (out) {
        const struct hs_amount more = { .bytes = value - before };
        hs_amount_add(&out->live, &more);
        hs_amount_add(&out->alloc, &more);
        hs_amount_add(&r->live, &more);
    }
}

int hs_load_folded(const struct hs_load_source *source)
{
    struct hs_builder *builder = source->builder;
    struct hs_lines lines = { .at = (const char *)source->data,
                              .end = (const char *)source->data + source->bytes };
    struct hs_profile_module nowhere = { 0 };
    struct hs_profile_process process = { .exit_kind = HS_EXIT_RUNNING };
    struct reader r = { .source = source,
                        .is_difference = has_two_numbers(lines),
                        .module = hs_builder_module(builder, &nowhere),
                        .heap = hs_builder_heap(builder, "unknown") };
    while (r.err == 0 && hs_lines_next(&lines)) {
        if (is_stack(&lines)) {
            read_stack(&r, &lines);
        }
        r.err = r.err ? r.err : hs_builder_error(builder);
    }
    if (r.err == 0) {
        source->report->has_no_alloc = true;
        struct hs_profile_dump dump = { .process = hs_builder_process(builder, &process),
                                        .has_scaled_counts = true,
                                        .live = r.live,
                                        .alloc = r.live };
        hs_builder_dump(builder, &dump, r.samples, r.count);
    }
    free(r.samples);
    free(r.places);
    return r.err;
}
