/*
 * See massif.h.
 */
#include "view/massif.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "profile/analyse/heap_sums.h"
#include "util/buf.h"
#include "view/massif_tree.h"

#define NS_PER_MS UINT64_C(1000000)

enum tree {
    TREE_NONE,
    TREE_DETAILED,
    TREE_PEAK,
};

struct snapshot {
    uint64_t time; /* milliseconds or bytes */
    double bytes;
    enum tree tree;
    enum hs_quantity quantity;
};

struct writer {
    const struct hs_profile *profile;
    const struct hs_selection *selection;
    struct hs_buf *buf;
    bool is_time_bytes;
    struct snapshot *snapshots;
    size_t count;
};

/* The number as the text can express it. */
static double printable(double value)
{
    return value > 0 && value < 1e18 ? round(value) : 0;
}

static uint64_t time_of(const struct writer *w, uint64_t time_ns, double alloc_bytes)
{
    if (w->is_time_bytes) {
        return (uint64_t)printable(alloc_bytes);
    }
    uint64_t start_ns = w->selection->start_ns;
    return time_ns > start_ns ? (time_ns - start_ns) / NS_PER_MS : 0;
}

static int compare_times(const void *a, const void *b, void *ctx)
{
    const struct hs_profile *p = ctx;
    const struct hs_profile_dump *x = &p->dumps[*(const uint32_t *)a];
    const struct hs_profile_dump *y = &p->dumps[*(const uint32_t *)b];
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

/* Collects all dumps of the selected processes up to the selected ones, sorted by time. */
static uint32_t *collect_dumps(const struct writer *w, uint32_t *ret_count)
{
    const struct hs_profile *p = w->profile;
    const struct hs_selection *s = w->selection;
    uint32_t *order = calloc(p->dump_count + 1u, sizeof(*order));
    uint32_t *last = calloc(p->process_count + 1u, sizeof(*last));
    uint32_t count = 0;
    for (uint32_t i = 0; order && last && i < s->dump_count; i++) {
        last[p->dumps[s->dumps[i]].process] = p->dumps[s->dumps[i]].index + 1;
    }
    for (uint32_t i = 0; order && last && i < p->dump_count; i++) {
        if (p->dumps[i].index < last[p->dumps[i].process]) {
            order[count++] = i;
        }
    }
    free(last);
    if (order) {
        qsort_r(order, count, sizeof(*order), compare_times, (void *)(uintptr_t)p);
    }
    *ret_count = count;
    return order;
}

static bool is_from_nothing(const struct writer *w)
{
    const struct hs_profile *p = w->profile;
    for (uint32_t i = 0; i < w->selection->dump_count; i++) {
        if (!p->processes[p->dumps[w->selection->dumps[i]].process].is_from_startup) {
            return p->origin != NULL;
        }
    }
    return true;
}

/* Computes what was live in all processes after each dump. */
static int fill(struct writer *w, const uint32_t *order, uint32_t count)
{
    const struct hs_profile *p = w->profile;
    double *live = calloc(p->process_count + 1u, sizeof(*live));
    double *alloc = calloc(p->process_count + 1u, sizeof(*alloc));
    w->snapshots = calloc((size_t)count + 3, sizeof(*w->snapshots));
    double live_sum = 0, alloc_sum = 0;
    if (live && alloc && w->snapshots) {
        if (is_from_nothing(w)) {
            w->snapshots[w->count++] = (struct snapshot){ .time = 0 };
        }
        for (uint32_t i = 0; i < count; i++) {
            const struct hs_profile_dump *dump = &p->dumps[order[i]];
            live_sum += dump->live.bytes - live[dump->process];
            alloc_sum += dump->alloc.bytes - alloc[dump->process];
            live[dump->process] = dump->live.bytes;
            alloc[dump->process] = dump->alloc.bytes;
            w->snapshots[w->count++] =
                (struct snapshot){ .time = time_of(w, dump->time_ns, alloc_sum),
                                   .bytes = live_sum };
        }
    }
    free(live);
    free(alloc);
    return w->snapshots && w->count > 0 ? 0 : -ENOMEM;
}

/* The last snapshot gets its tree. The peak of a single process is a snapshot of its own. */
static void add_trees(struct writer *w)
{
    const struct hs_selection *s = w->selection;
    const struct hs_profile_dump *dump = &w->profile->dumps[s->dumps[0]];
    w->snapshots[w->count - 1].tree = TREE_DETAILED;
    w->snapshots[w->count - 1].quantity = HS_QUANTITY_LIVE;
    if (!s->has_peak || s->dump_count != 1 || w->is_time_bytes || !(s->peak.bytes > 0)) {
        return;
    }
    struct snapshot peak = { .time = time_of(w, dump->peak_time_ns, 0),
                             .bytes = s->peak.bytes,
                             .tree = TREE_PEAK,
                             .quantity = HS_QUANTITY_PEAK };
    size_t at = w->count;
    while (at > 0 && w->snapshots[at - 1].time > peak.time) {
        w->snapshots[at] = w->snapshots[at - 1];
        at--;
    }
    if (at == w->count && w->snapshots[at - 1].time == peak.time) {
        /* A peak in the same millisecond as the end goes before it. */
        w->snapshots[at] = w->snapshots[at - 1];
        at--;
    }
    w->snapshots[at] = peak;
    w->count++;
}

static int write_snapshots(struct writer *w)
{
    int err = 0;
    for (size_t i = 0; i < w->count && err == 0; i++) {
        const struct snapshot *snapshot = &w->snapshots[i];
        hs_buf_printf(w->buf,
                      "#-----------\nsnapshot=%zu\n#-----------\ntime=%" PRIu64
                      "\nmem_heap_B=%.0f\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
                      i, snapshot->time, printable(snapshot->bytes),
                      snapshot->tree == TREE_NONE       ? "empty"
                      : snapshot->tree == TREE_DETAILED ? "detailed"
                                                        : "peak");
        if (snapshot->tree != TREE_NONE) {
            err = hs_massif_tree_write(w->selection, snapshot->quantity, w->buf);
        }
    }
    return err;
}

static void write_head(const struct writer *w)
{
    const struct hs_profile *p = w->profile;
    const struct hs_profile_process *process =
        &p->processes[p->dumps[w->selection->dumps[0]].process];
    const char *command = hs_profile_string(p, process->cmdline);
    command = command[0] ? command : hs_profile_string(p, process->name);
    struct hs_buf heaps = HS_BUF_INIT;
    hs_buf_str(w->buf, "desc: heapscope " HS_VERSION);
    if (hs_heap_sums_describe(w->selection, &heaps) > 1) {
        hs_buf_str(w->buf, "; ");
        hs_massif_write_clean(w->buf, hs_buf_text(&heaps));
    }
    w->buf->err = w->buf->err ? w->buf->err : heaps.err;
    hs_buf_deinit(&heaps);
    hs_buf_str(w->buf, "\ncmd: ");
    hs_massif_write_clean(w->buf, command[0] ? command : "?");
    hs_buf_printf(w->buf, "\ntime_unit: %s\n", w->is_time_bytes ? "B" : "ms");
}

int hs_massif_write(const struct hs_profile *profile, const struct hs_select_spec *select,
                    struct hs_buf *buf)
{
    struct hs_selection selection;
    int err = hs_select_dumps(profile, select, &selection);
    if (err != 0) {
        return err;
    }
    struct writer w = { .profile = profile,
                        .selection = &selection,
                        .buf = buf,
                        .is_time_bytes = selection.end_ns <= selection.start_ns };
    uint32_t count;
    uint32_t *order = collect_dumps(&w, &count);
    err = order ? fill(&w, order, count) : -ENOMEM;
    if (err == 0) {
        write_head(&w);
        add_trees(&w);
        err = write_snapshots(&w);
    }
    free(order);
    free(w.snapshots);
    hs_selection_deinit(&selection);
    return err ? err : buf->err;
}
