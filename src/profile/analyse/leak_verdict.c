/*
 * See leak_verdict.h; leak_score.h has the rules.
 */
#include "profile/analyse/leak_verdict.h"

#include <math.h>

/* Shares of a mean, see leak_score.h. */
#define QUARTER_SHARE 0.4
#define EIGHTH_SHARE  0.3
#define DEAD_SHARE    0.5
#define EVEN_SHARE    0.25
#define FREED_SHARE   0.05
/* If so many blocks or samples are expected in the last eighth, it must have one; if so many, its
 * share. It must be twice as long as the resolution of the clock. */
#define EIGHTH_ANY_EVENTS   3.5
#define EIGHTH_SHARE_EVENTS 8
#define EIGHTH_MS_MIN       8

const char *const hs_leak_verdict_names[HS_LEAK_VERDICT_N] = {
    [HS_LEAK_LEAKS] = "leaks",
    [HS_LEAK_UNSURE] = "unsure",
    [HS_LEAK_REPLACED] = "replaced",
    [HS_LEAK_STOPPED] = "stopped",
};

static void add(struct hs_leak_amount *sum, const struct hs_leak_amount *more)
{
    sum->bytes += more->bytes;
    sum->count += more->count;
    sum->bytes_var += more->bytes_var;
}

/* What lives of the eighths [first, end). */
static struct hs_leak_amount sum_of(const struct hs_leak_row *row, unsigned first, unsigned end)
{
    struct hs_leak_amount sum = { 0 };
    for (unsigned i = first; i < end; i++) {
        add(&sum, &row->eighths[i]);
    }
    return sum;
}

/* The variance of the bytes, if a random number of blocks came: of sampling, and of the number. */
static double variance_of(const struct hs_leak_amount *amount)
{
    double of_number =
        amount->count > 0 ? amount->bytes * amount->bytes / fmax(amount->count, 1) : 0;
    return amount->bytes_var + of_number;
}

/* How many independent events of equal size would have this variance: blocks, or samples. */
static double events_of(const struct hs_leak_amount *amount)
{
    double variance = variance_of(amount);
    return variance > 0 ? amount->bytes * amount->bytes / variance : 0;
}

/* Was enough of the second half allocated in the last eighth? */
static bool goes_on_at_end(const struct hs_leak_row *row, double span_ms)
{
    struct hs_leak_amount half = sum_of(row, 4, 8);
    double expected_events = events_of(&half) / 4, bytes = row->eighths[7].bytes;
    return expected_events < EIGHTH_ANY_EVENTS || span_ms / 8 < EIGHTH_MS_MIN
               ? true
               : bytes > 0 && (expected_events < EIGHTH_SHARE_EVENTS ||
                               bytes >= EIGHTH_SHARE * half.bytes / 4);
}

static bool goes_on(const struct hs_leak_row *row, double span_ms)
{
    struct hs_leak_amount third = sum_of(row, 4, 6), fourth = sum_of(row, 6, 8);
    double mean_bytes = (third.bytes + fourth.bytes) / 2;
    return mean_bytes > 0 && third.bytes >= QUARTER_SHARE * mean_bytes &&
           fourth.bytes >= QUARTER_SHARE * mean_bytes && goes_on_at_end(row, span_ms);
}

/* Without an earlier dump: do as many blocks live of the first times as of the last? */
static bool is_even(const struct hs_leak_row *row)
{
    struct hs_leak_amount first = sum_of(row, 0, 4), second = sum_of(row, 4, 8);
    for (unsigned i = 0; i < 8; i += 2) {
        struct hs_leak_amount quarter = sum_of(row, i, i + 2);
        if (quarter.bytes < EVEN_SHARE * (first.bytes + second.bytes) / 4) {
            return false;
        }
    }
    /* What the ratio of two equal halves falls below with 5 %, but from 0.33 to 0.45. */
    double least = 1 - 1.645 * sqrt(1 / events_of(&first) + 1 / events_of(&second));
    return first.bytes >= fmin(fmax(least, 0.33), 0.45) * second.bytes;
}

static double dead_bytes(const struct hs_leak_check *check)
{
    return fmax(check->old.bytes - check->left.bytes, 0);
}

static bool do_blocks_stay(const struct hs_leak_row *row, const struct hs_leak_checks *checks)
{
    bool has_earlier = false;
    for (unsigned i = 0; i < HS_LEAK_CHECKS; i++) {
        const struct hs_leak_check *check = &checks->checks[i];
        has_earlier |= check->hours > 0;
        if (check->hours > 0 && dead_bytes(check) >= DEAD_SHARE * check->new_.bytes) {
            return false;
        }
    }
    return has_earlier || row->live.bytes >= (1 - FREED_SHARE) * row->alloc.bytes || is_even(row);
}

/* New and dead blocks of the second half. */
struct change {
    double new_bytes, dead_bytes, variance, hours;
};

static struct change change_of(const struct hs_leak_row *row, const struct hs_leak_checks *checks,
                               double span_ms)
{
    const struct hs_leak_check *check = &checks->checks[HS_LEAK_CHECKS / 2];
    if (check->hours > 0) {
        /* Both are sums of the same samples: those of `left` are among those of `old`. */
        struct hs_leak_amount dead = {
            .bytes = dead_bytes(check),
            .count = fmax(check->old.count - check->left.count, 0),
            .bytes_var = fmax(check->old.bytes_var - check->left.bytes_var, 0),
        };
        return (struct change){ check->new_.bytes, dead.bytes,
                                variance_of(&check->new_) + variance_of(&dead), check->hours };
    }
    struct hs_leak_amount half = sum_of(row, 4, 8);
    return (struct change){ half.bytes, 0, variance_of(&half), span_ms * 15 / 32 / 3600e3 };
}

/* The probability that a normal variable is below its mean plus `z` deviations. */
static double normal_below(double z)
{
    return erfc(-z / sqrt(2)) / 2;
}

void hs_leak_judge(struct hs_leak_row *row, const struct hs_leak_checks *checks, double span_ms,
                   bool is_short)
{
    struct change change = change_of(row, checks, span_ms);
    double deviation = sqrt(change.variance);
    double net = change.new_bytes - change.dead_bytes;
    if (change.hours > 0) {
        row->growth = net / change.hours;
        row->growth_margin = 1.96 * deviation / change.hours;
    }
    if (is_short) {
        row->verdict = HS_LEAK_UNSURE;
    } else if (!goes_on(row, span_ms)) {
        row->verdict = HS_LEAK_STOPPED;
    } else if (!do_blocks_stay(row, checks)) {
        row->verdict = HS_LEAK_REPLACED;
    } else {
        row->confidence =
            deviation > 0 ? normal_below((net - change.new_bytes / 2) / deviation) : 0;
        row->verdict = row->confidence >= HS_LEAK_CONFIDENCE ? HS_LEAK_LEAKS : HS_LEAK_UNSURE;
    }
}
