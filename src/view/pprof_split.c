/*
 * Samples with labels: see pprof_split.h.
 *
 * Values are whole numbers, and parts are estimates with fractions. Each part gets the difference
 * of two rounded sums, and the last one what is left.
 */
#include "view/pprof_split.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/analyse/part_sums.h"
#include "profile/model/describe.h"
#include "profile/model/dump_parts.h"
#include "rt/base.h"
#include "util/array.h"
#include "util/saturate.h"

#define SCOPES_FOLLOWED 128

static const struct {
    const char *name;
    enum hs_pprof_label_bit bit;
} label_names[] = {
    { "thread", HS_PPROF_LABEL_THREAD }, { "type", HS_PPROF_LABEL_TYPE },
    { "age", HS_PPROF_LABEL_AGE },       { "scope", HS_PPROF_LABEL_SCOPE },
    { "label", HS_PPROF_LABEL_LABEL },
};

bool hs_pprof_labels_parse(const char *text, unsigned *ret_labels, const char **ret_bad)
{
    unsigned labels = 0;
    for (const char *at = text; at;) {
        size_t bytes = strcspn(at, ","), i = 0;
        while (i < HS_COUNT_OF(label_names) && (strlen(label_names[i].name) != bytes ||
                                                strncmp(label_names[i].name, at, bytes) != 0)) {
            i++;
        }
        if (i == HS_COUNT_OF(label_names)) {
            *ret_bad = at;
            return false;
        }
        labels |= (unsigned)label_names[i].bit;
        at = at[bytes] ? at + bytes + 1 : NULL;
    }
    *ret_labels = labels;
    return true;
}

int hs_pprof_check(const struct hs_profile *profile, const struct hs_select_spec *select,
                   const struct hs_pprof_options *options)
{
    struct hs_selection selection;
    int err = hs_select_dumps(profile, select, &selection);
    if (err != 0) {
        return err;
    }
    for (uint32_t d = 0; err == 0 && d < selection.dump_count; d++) {
        const struct hs_profile_dump *dump = &profile->dumps[selection.dumps[d]];
        bool has_all =
            options->with_tags ? dump->has_blocks : options->labels == 0 || dump->has_parts;
        err = has_all || (dump->live.bytes <= 0 && dump->peak.bytes <= 0) ? 0 : -ENODATA;
    }
    hs_selection_deinit(&selection);
    return err;
}

/* --- labels ----------------------------------------------------------------------------------- */

void hs_pprof_text_label(struct hs_pprof_writer *w, struct hs_pprof_labels *labels, const char *key,
                         const char *text)
{
    if (labels->count < HS_PPROF_LABELS_MAX) {
        Hs__Pprof__PprofLabel *label = &labels->items[labels->count++];
        hs__pprof__pprof_label__init(label);
        label->key = hs_pprof_text(&w->parts, key);
        label->str = hs_pprof_text(&w->parts, text);
    }
}

void hs_pprof_number_label(struct hs_pprof_writer *w, struct hs_pprof_labels *labels,
                           const char *key, uint64_t number, const char *unit)
{
    if (labels->count < HS_PPROF_LABELS_MAX) {
        Hs__Pprof__PprofLabel *label = &labels->items[labels->count++];
        hs__pprof__pprof_label__init(label);
        label->key = hs_pprof_text(&w->parts, key);
        label->num = hs_saturate_signed(number);
        label->num_unit = unit ? hs_pprof_text(&w->parts, unit) : 0;
    }
}

/* --- dividing a whole number ------------------------------------------------------------------ */

struct division {
    int64_t whole, given;
    double sum;
};

/* What the next part of the whole gets. */
static int64_t take(struct division *division, double part, bool is_last)
{
    division->sum += part;
    int64_t all = division->whole;
    if (!is_last && division->sum < (double)division->whole) {
        all = (int64_t)llround(division->sum);
    }
    all = all < division->given ? division->given : all;
    int64_t out = all - division->given;
    division->given = all;
    return out;
}

static void add_thread(struct hs_pprof_writer *w, struct hs_pprof_labels *labels, uint32_t name,
                       uint32_t tid)
{
    char text[128];
    snprintf(text, sizeof(text), "%.100s[%" PRIu32 "]", hs_profile_string(w->profile, name), tid);
    hs_pprof_text_label(w, labels, "thread", text);
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* The first block of the sample, as an index in the profile's. */
static uint64_t find_blocks(const struct hs_profile *p, const struct hs_pprof_place *place)
{
    uint64_t low = place->dump->block_first, high = low + place->dump->blocks_n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct hs_profile_block *block = &p->blocks[middle];
        if (hs_sample_order(block->node, block->heap, place->sample->node, place->sample->heap) <
            0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_of(const struct hs_pprof_place *place, const struct hs_profile_block *block)
{
    return block->node == place->sample->node && block->heap == place->sample->heap;
}

static void add_tags(struct hs_pprof_writer *w, const struct hs_profile_block *block,
                     struct hs_pprof_labels *labels)
{
    char address[32];
    if (block->address) {
        snprintf(address, sizeof(address), "0x%" PRIx64, block->address);
        hs_pprof_text_label(w, labels, "address", address);
    }
    hs_pprof_number_label(w, labels, "bytes", block->size_bytes, "bytes");
    if (block->birth_ns) {
        hs_pprof_number_label(w, labels, "timestamp", block->birth_ns, "nanoseconds");
    }
    if (block->tid || block->thread_name) {
        add_thread(w, labels, block->thread_name, block->tid);
    }
    if (block->type) {
        hs_pprof_text_label(w, labels, "type", hs_profile_string(w->profile, block->type));
    }
}

void hs_pprof_put_blocks(struct hs_pprof_writer *w, const struct hs_pprof_place *place,
                         const int64_t *values)
{
    const struct hs_profile *p = w->profile;
    struct division counts = { .whole = values[0] }, bytes = { .whole = values[1] };
    uint64_t end = place->dump->block_first + place->dump->blocks_n;
    for (uint64_t i = find_blocks(p, place); i < end && is_of(place, &p->blocks[i]); i++) {
        const struct hs_profile_block *block = &p->blocks[i];
        bool is_last = place->dump->block_left_out_count == 0 &&
                       (i + 1 == end || !is_of(place, &p->blocks[i + 1]));
        struct hs_pprof_labels labels = { .count = 0 };
        const int64_t own[2] = { take(&counts, block->count, is_last),
                                 take(&bytes, block->bytes, is_last) };
        add_tags(w, block, &labels);
        hs_pprof_put_sample(w, place, own, &labels);
    }
    const int64_t rest[2] = { counts.whole - counts.given, bytes.whole - bytes.given };
    if (rest[0] != 0 || rest[1] != 0) {
        struct hs_pprof_labels labels = { .count = 0 };
        hs_pprof_put_sample(w, place, rest, &labels);
    }
}

/* --- parts ------------------------------------------------------------------------------------ */

/* What lived, now and at the peak, with the same labels. */
struct hs_pprof_split {
    uint32_t tid, thread_name, type, scope;
    uint16_t age_class;
    bool is_others;
    struct hs_amount amounts[HS_PART_VIEWS];
};

static int compare_splits(const void *a, const void *b)
{
    const struct hs_pprof_split *left = a, *right = b;
    const uint64_t keys[][2] = {
        { left->is_others, right->is_others },
        { (uint64_t)left->tid << 32 | left->thread_name,
          (uint64_t)right->tid << 32 | right->thread_name },
        { (uint64_t)left->type << 32 | left->scope, (uint64_t)right->type << 32 | right->scope },
        { left->age_class, right->age_class },
    };
    for (size_t i = 0; i < HS_COUNT_OF(keys); i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? -1 : 1;
        }
    }
    return 0;
}

static void add_split(void *sum, void *item)
{
    struct hs_pprof_split *to = sum;
    const struct hs_pprof_split *from = item;
    for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
        to->amounts[view].bytes += from->amounts[view].bytes;
        to->amounts[view].count += from->amounts[view].count;
    }
}

/* A part, without what no label is wanted of. */
static struct hs_pprof_split make_split(unsigned labels, enum hs_part_view view,
                                        const struct hs_profile_part *part)
{
    bool has_thread = (labels & HS_PPROF_LABEL_THREAD) && !part->is_others;
    bool has_scope = (labels & (HS_PPROF_LABEL_SCOPE | HS_PPROF_LABEL_LABEL)) != 0;
    struct hs_pprof_split split = {
        .tid = has_thread ? part->tid : 0,
        .thread_name = has_thread ? part->thread_name : 0,
        .type = labels & HS_PPROF_LABEL_TYPE ? part->type : 0,
        .scope = has_scope ? part->scope : 0,
        .age_class = labels & HS_PPROF_LABEL_AGE ? part->age_class : 0,
        .is_others = part->is_others,
    };
    split.amounts[view] = part->amount;
    return split;
}

/* Collects the parts of the sample in w->split. */
static size_t collect(struct hs_pprof_writer *w, const struct hs_pprof_place *place)
{
    size_t count = 0;
    for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
        const struct hs_part_range range =
            hs_dump_parts_of(w->profile, place->dump, view, place->sample);
        for (uint64_t i = range.first; i < range.end; i++) {
            int err = hs_array_reserve(&w->split, &w->split_capacity, count + 1, sizeof(*w->split));
            if (err < 0) {
                w->parts.err = err;
                return 0;
            }
            w->split[count++] = make_split(w->options.labels, view, &w->profile->parts[i]);
        }
    }
    return hs_array_merge(w->split, count, sizeof(*w->split), compare_splits, add_split);
}

/* The program's labels that were open; of one key, the innermost. */
static void add_own_labels(struct hs_pprof_writer *w, uint32_t scope,
                           struct hs_pprof_labels *labels)
{
    const struct hs_profile *p = w->profile;
    size_t first = labels->count;
    for (unsigned i = 0; scope > 0 && scope <= p->scope_count && i < SCOPES_FOLLOWED; i++) {
        const char *name = hs_profile_string(p, p->scopes[scope - 1].name);
        const char *equals = strchr(name, '=');
        scope = p->scopes[scope - 1].parent;
        char key[64];
        if (!equals || equals == name || (size_t)(equals - name) >= sizeof(key)) {
            continue;
        }
        snprintf(key, sizeof(key), "%.*s", (int)(equals - name), name);
        int64_t id = hs_pprof_text(&w->parts, key);
        bool is_new = true;
        for (size_t k = first; k < labels->count; k++) {
            is_new = is_new && labels->items[k].key != id;
        }
        if (is_new) {
            hs_pprof_text_label(w, labels, key, equals + 1);
        }
    }
}

static void add_labels(struct hs_pprof_writer *w, const struct hs_pprof_split *split,
                       struct hs_pprof_labels *labels)
{
    unsigned wanted = w->options.labels;
    struct hs_buf text = HS_BUF_INIT;
    if (split->tid || split->thread_name) {
        add_thread(w, labels, split->thread_name, split->tid);
    }
    if (split->type) {
        hs_pprof_text_label(w, labels, "type", hs_profile_string(w->profile, split->type));
    }
    if ((wanted & HS_PPROF_LABEL_AGE) && split->age_class < HS_AGE_CLASSES) {
        const struct hs_part_group group = { .key = split->age_class };
        hs_part_group_write(w->profile, HS_PART_BY_AGE, &group, &text);
        hs_pprof_text_label(w, labels, "age", hs_buf_text(&text));
    }
    if ((wanted & HS_PPROF_LABEL_SCOPE) && split->scope) {
        text.bytes = 0;
        hs_describe_scope(w->profile, split->scope, &text);
        hs_pprof_text_label(w, labels, "scope", hs_buf_text(&text));
    }
    if (wanted & HS_PPROF_LABEL_LABEL) {
        add_own_labels(w, split->scope, labels);
    }
    w->parts.err = w->parts.err ? w->parts.err : text.err;
    hs_buf_deinit(&text);
}

/* The value of a split that a sample type shows; it has none of what was allocated. */
static double value_of(const struct hs_pprof_split *split, uint8_t value)
{
    const struct hs_amount *live = &split->amounts[HS_PARTS_LIVE];
    const struct hs_amount *peak = &split->amounts[HS_PARTS_PEAK];
    switch ((enum hs_pprof_value)value) {
    case HS_PPROF_VALUE_LIVE_COUNT:
        return live->count;
    case HS_PPROF_VALUE_LIVE_BYTES:
        return live->bytes;
    case HS_PPROF_VALUE_PEAK_COUNT:
        return peak->count;
    case HS_PPROF_VALUE_PEAK_BYTES:
        return peak->bytes;
    case HS_PPROF_VALUE_ALLOC_COUNT:
    case HS_PPROF_VALUE_ALLOC_BYTES:
        break;
    }
    return 0;
}

/* Is a value divided by parts at all? Which of them is the last that has some of it? */
static size_t find_last(const struct hs_pprof_split *splits, size_t count, uint8_t value)
{
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        last = value_of(&splits[i], value) > 0 ? i : last;
    }
    return last;
}

void hs_pprof_put_labelled(struct hs_pprof_writer *w, const struct hs_pprof_place *place,
                           const int64_t *values)
{
    struct division divisions[HS_PPROF_VALUES_MAX] = { { 0 } };
    size_t lasts[HS_PPROF_VALUES_MAX] = { 0 };
    int64_t own[HS_PPROF_VALUES_MAX];
    struct hs_pprof_labels labels = { .count = 0 };
    size_t count = collect(w, place);
    for (size_t v = 0; v < w->value_count; v++) {
        divisions[v].whole = values[v];
        lasts[v] = find_last(w->split, count, w->layout->values[v]);
    }
    for (size_t i = 0; i < count; i++) {
        bool is_empty = true;
        for (size_t v = 0; v < w->value_count; v++) {
            bool has_any = lasts[v] != SIZE_MAX && i <= lasts[v];
            double part = value_of(&w->split[i], w->layout->values[v]);
            own[v] = has_any ? take(&divisions[v], part, i == lasts[v]) : 0;
            is_empty = is_empty && own[v] == 0;
        }
        if (!is_empty) {
            labels.count = 0;
            add_labels(w, &w->split[i], &labels);
            hs_pprof_put_sample(w, place, own, &labels);
        }
    }
    bool is_empty = true;
    for (size_t v = 0; v < w->value_count; v++) {
        own[v] = values[v] - divisions[v].given;
        is_empty = is_empty && own[v] == 0;
    }
    if (!is_empty) {
        labels.count = 0;
        hs_pprof_put_sample(w, place, own, &labels);
    }
}
