/*
 * See leak_score.h. Here the figures of each stack are added up from the births of dumps;
 * leak_verdict.c judges them.
 */
#include "profile/analyse/leak_score.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "profile/analyse/leak_verdict.h"

/* Births are known to about 4 ms, the resolution of the clock that the client reads: in shorter
 * recordings, quarters would be guesses. */
#define SPAN_MS_MIN 24U

struct finder {
    const struct hs_selection *selection;
    const struct hs_agg *agg;
    uint32_t *row_of;              /* by node of the tree, index + 1; 0: nothing lives there */
    struct hs_leak_checks *checks; /* by row */
    struct hs_leaks *leaks;
};

/* What is known of a stack. */
struct sums {
    struct hs_leak_row *row;
    struct hs_leak_checks *checks;
};

/* Adds a share of an amount. */
static void add_share(struct hs_leak_amount *sum, const struct hs_amount *amount, double share)
{
    sum->bytes += share * amount->bytes;
    sum->count += share * amount->count;
    sum->bytes_var += share * amount->bytes_var;
}

/* How much of [from, to) lies in [low, high), from 0 to 1. */
static double overlap(double from, double to, double low, double high)
{
    double begin = fmax(from, low), end = fmin(to, high);
    return to > from && end > begin ? (end - begin) / (to - from) : 0;
}

/* The time of which the eighths are: without the last sixteenth. */
static double settled_ms(const struct hs_profile_dump *dump)
{
    return (double)dump->birth_span_ms * 15 / 16;
}

/* What of a window was allocated before a time. */
static double share_before(const struct hs_profile_dump *dump, const struct hs_profile_birth *birth,
                           double end_ms)
{
    double from = (double)(birth->window * dump->birth_window_ms);
    double to = fmin(from + (double)dump->birth_window_ms, (double)dump->birth_span_ms);
    return to > from ? overlap(from, to, 0, end_ms) : from < end_ms;
}

/* --- earlier dumps ---------------------------------------------------------------------------- */

/* The boundary between old and new blocks: what lives at the earlier dump and is settled there. It
 * lies between two windows of the later dump, and thus of both. */
static double boundary_ms(const struct hs_profile_dump *earlier,
                          const struct hs_profile_dump *later)
{
    double end = (double)earlier->birth_span_ms - (double)later->birth_span_ms / 16;
    double window = (double)later->birth_window_ms;
    return end > 0 ? floor(end / window) * window : 0;
}

/* The earlier dump of the same process whose boundary is nearest to a share of the time, and lies
 * in the middle three quarters of it; UINT32_MAX: there is none. */
static uint32_t find_earlier(const struct hs_profile *p, uint32_t dump, double share)
{
    const struct hs_profile_dump *later = &p->dumps[dump];
    double whole = settled_ms(later), best = HUGE_VAL;
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < p->dump_count; i++) {
        const struct hs_profile_dump *earlier = &p->dumps[i];
        if (earlier->process != later->process || earlier->index >= later->index ||
            earlier->birth_window_ms == 0 || earlier->birth_span_ms >= later->birth_span_ms) {
            continue;
        }
        double at = boundary_ms(earlier, later);
        double apart = fabs(at - share * whole);
        if (at >= whole / 8 && at <= whole * 7 / 8 && apart < best) {
            best = apart;
            found = i;
        }
    }
    return found;
}

/* Calls `add` for the births of dump `from` whose stacks have samples in the selected dump number
 * `d`. Both are in the order of nodes and heaps. */
static void each_birth(struct finder *finder, uint32_t d, size_t sample_before,
                       const struct hs_profile_dump *from,
                       void (*add)(struct sums *sums, const struct hs_profile_dump *from,
                                   const struct hs_profile_birth *birth, const void *ctx),
                       const void *ctx)
{
    const struct hs_profile *p = finder->selection->profile;
    const struct hs_profile_dump *dump = &p->dumps[finder->selection->dumps[d]];
    uint64_t at = from->birth_first, end = at + from->births_n;
    for (uint32_t i = 0; i < dump->samples_n; i++) {
        const struct hs_profile_sample *sample = &p->samples[dump->sample_first + i];
        uint32_t row = finder->row_of[finder->agg->sample_nodes[sample_before + i]];
        struct sums sums = { 0 };
        if (row != 0) {
            sums = (struct sums){ &finder->leaks->rows[row - 1], &finder->checks[row - 1] };
        }
        while (at < end && hs_sample_order(p->births[at].node, p->births[at].heap, sample->node,
                                           sample->heap) < 0) {
            at++;
        }
        for (; at < end && p->births[at].node == sample->node && p->births[at].heap == sample->heap;
             at++) {
            if (sums.row) {
                add(&sums, from, &p->births[at], ctx);
            }
        }
    }
}

/* --- sums ------------------------------------------------------------------------------------- */

static void add_eighths(struct sums *sums, const struct hs_profile_dump *dump,
                        const struct hs_profile_birth *birth, const void *ctx)
{
    double eighth = settled_ms(dump) / HS_LEAK_EIGHTHS;
    double from = (double)(birth->window * dump->birth_window_ms);
    double to = fmin(from + (double)dump->birth_window_ms, (double)dump->birth_span_ms);
    (void)ctx;
    for (unsigned i = 0; i < HS_LEAK_EIGHTHS; i++) {
        add_share(&sums->row->eighths[i], &birth->amount,
                  overlap(from, to, i * eighth, (i + 1) * eighth));
    }
    uint64_t age_ms = to < (double)dump->birth_span_ms ? dump->birth_span_ms - (uint64_t)to : 0;
    sums->row->oldest_ms = age_ms > sums->row->oldest_ms ? age_ms : sums->row->oldest_ms;
}

/* Which earlier dump, and what is compared. */
struct comparison {
    unsigned check; /* index in hs_leak_checks.checks */
    double boundary_ms;
};

static void add_old(struct sums *sums, const struct hs_profile_dump *from,
                    const struct hs_profile_birth *birth, const void *ctx)
{
    const struct comparison *comparison = ctx;
    add_share(&sums->checks->checks[comparison->check].old, &birth->amount,
              share_before(from, birth, comparison->boundary_ms));
}

static void add_new(struct sums *sums, const struct hs_profile_dump *from,
                    const struct hs_profile_birth *birth, const void *ctx)
{
    const struct comparison *comparison = ctx;
    struct hs_leak_check *check = &sums->checks->checks[comparison->check];
    double old = share_before(from, birth, comparison->boundary_ms);
    double settled = share_before(from, birth, settled_ms(from));
    add_share(&check->left, &birth->amount, old);
    add_share(&check->new_, &birth->amount, settled - old);
    check->hours = fmax(check->hours, (settled_ms(from) - comparison->boundary_ms) / 3600e3);
}

/* Adds the births of the selected dump number `d`, and of earlier ones of its process. */
static void add_dump(struct finder *finder, uint32_t d, size_t sample_before)
{
    const struct hs_profile *p = finder->selection->profile;
    uint32_t id = finder->selection->dumps[d];
    const struct hs_profile_dump *dump = &p->dumps[id];
    bool is_short = dump->birth_span_ms < SPAN_MS_MIN;
    if (dump->birth_span_ms > finder->leaks->span_ms) {
        finder->leaks->span_ms = dump->birth_span_ms;
    }
    finder->leaks->is_short &= is_short;
    each_birth(finder, d, sample_before, dump, add_eighths, NULL);
    uint32_t last = UINT32_MAX;
    for (unsigned i = 0; i < HS_LEAK_CHECKS && !is_short; i++) {
        uint32_t earlier = find_earlier(p, id, (i + 1) * 0.25);
        if (earlier == UINT32_MAX) {
            return;
        }
        const struct comparison comparison = { i, boundary_ms(&p->dumps[earlier], dump) };
        each_birth(finder, d, sample_before, &p->dumps[earlier], add_old, &comparison);
        each_birth(finder, d, sample_before, dump, add_new, &comparison);
        finder->leaks->earlier_dump_count += earlier != last;
        last = earlier;
    }
}

/* Does the dump have blocks, and say nothing of their births? */
static bool lacks_births(const struct hs_profile_dump *dump)
{
    return dump->birth_window_ms == 0 && dump->live.bytes > 0;
}

static int add_dumps(struct finder *finder)
{
    const struct hs_selection *selection = finder->selection;
    size_t sample_before = 0;
    for (uint32_t d = 0; d < selection->dump_count; d++) {
        const struct hs_profile_dump *dump = &selection->profile->dumps[selection->dumps[d]];
        if (lacks_births(dump)) {
            return -ENODATA;
        }
        if (dump->birth_window_ms != 0) {
            add_dump(finder, d, sample_before);
        }
        sample_before += dump->samples_n;
    }
    return 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const struct hs_leak_row *left = a, *right = b;
    if (left->verdict != right->verdict) {
        return left->verdict < right->verdict ? -1 : 1;
    }
    if (left->growth != right->growth) {
        return left->growth > right->growth ? -1 : 1;
    }
    return left->node < right->node ? -1 : left->node > right->node;
}

/* Makes a row for each stack where something lives. */
static int make_rows(struct finder *finder)
{
    const struct hs_agg *agg = finder->agg;
    struct hs_leaks *leaks = finder->leaks;
    size_t count = 0;
    for (uint32_t i = 0; i < agg->self_count; i++) {
        count += agg->selves[i].by[HS_QUANTITY_LIVE].bytes > 0;
    }
    leaks->rows = calloc(count + 1, sizeof(leaks->rows[0]));
    finder->checks = calloc(count + 1, sizeof(finder->checks[0]));
    finder->row_of = calloc((size_t)agg->node_count + 1, sizeof(finder->row_of[0]));
    if (!leaks->rows || !finder->checks || !finder->row_of) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < agg->self_count; i++) {
        const struct hs_agg_self *self = &agg->selves[i];
        if (self->by[HS_QUANTITY_LIVE].bytes > 0) {
            leaks->rows[leaks->count++] =
                (struct hs_leak_row){ .node = self->node,
                                      .live = self->by[HS_QUANTITY_LIVE],
                                      .alloc = self->by[HS_QUANTITY_ALLOC] };
            finder->row_of[self->node] = leaks->count;
        }
    }
    return 0;
}

static void judge(struct finder *finder)
{
    struct hs_leaks *leaks = finder->leaks;
    for (uint32_t i = 0; i < leaks->count; i++) {
        hs_leak_judge(&leaks->rows[i], &finder->checks[i], (double)leaks->span_ms, leaks->is_short);
    }
    qsort(leaks->rows, leaks->count, sizeof(leaks->rows[0]), compare_rows);
}

bool hs_leaks_is_known(const struct hs_profile *profile, const struct hs_select_spec *spec)
{
    struct hs_selection selection;
    bool is_known = true;
    if (hs_select_dumps(profile, spec, &selection) != 0) {
        return true;
    }
    for (uint32_t d = 0; d < selection.dump_count; d++) {
        is_known &= !lacks_births(&profile->dumps[selection.dumps[d]]);
    }
    hs_selection_deinit(&selection);
    return is_known;
}

int hs_leaks_find(const struct hs_selection *selection, const struct hs_agg *agg,
                  struct hs_leaks *ret_leaks)
{
    struct finder finder = { .selection = selection, .agg = agg, .leaks = ret_leaks };
    *ret_leaks = (struct hs_leaks){ .is_short = true };
    int r = make_rows(&finder);
    r = r == 0 ? add_dumps(&finder) : r;
    if (r == 0) {
        judge(&finder);
    } else {
        hs_leaks_deinit(ret_leaks);
    }
    free(finder.checks);
    free(finder.row_of);
    return r;
}

void hs_leaks_deinit(struct hs_leaks *leaks)
{
    free(leaks->rows);
    *leaks = (struct hs_leaks){ 0 };
}
