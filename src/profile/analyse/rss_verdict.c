/*
 * Says why the resident memory changed: see rss_verdict.h.
 */
#include "profile/analyse/rss_verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/analyse/rss_advice.h"
#include "util/buf.h"
#include "util/human.h"

#define MINUS "\xe2\x88\x92"
/* A verdict names at most so many parts. */
#define NAMED_MAX 4U

static const char *const keys[HS_RSS_CAUSE_N] = {
    [HS_RSS_STEADY] = "steady",       [HS_RSS_HELD] = "held",
    [HS_RSS_ARENAS] = "arenas",       [HS_RSS_RETAINED] = "retained",
    [HS_RSS_SCATTERED] = "scattered", [HS_RSS_MAPPED] = "mapped",
    [HS_RSS_ALLOCATOR] = "allocator", [HS_RSS_RUNTIME] = "runtime",
    [HS_RSS_ANONYMOUS] = "anonymous", [HS_RSS_SHARED] = "shared",
    [HS_RSS_STACKS] = "stacks",       [HS_RSS_MODULES] = "modules",
    [HS_RSS_FILES] = "files",         [HS_RSS_RECORDER] = "recorder",
    [HS_RSS_OTHER] = "other",
};

const char *hs_rss_cause_key(enum hs_rss_cause cause)
{
    return keys[cause];
}

static enum hs_rss_cause cause_of_free(const struct hs_rss_growth *growth)
{
    bool is_growth = growth->parts_bytes[HS_LEDGER_PART_FREE] > 0;
    if (is_growth && growth->arenas_after >= 2 * growth->arenas_before &&
        hs_rss_are_arenas_many(growth->arenas_after, growth->process_count)) {
        return HS_RSS_ARENAS;
    }
    bool is_top = 2 * fabs(growth->top_bytes) > fabs(growth->parts_bytes[HS_LEDGER_PART_FREE]);
    return is_top ? HS_RSS_RETAINED : HS_RSS_SCATTERED;
}

enum hs_rss_cause hs_rss_cause_of(const struct hs_rss_growth *growth)
{
    static const enum hs_rss_cause causes[HS_LEDGER_PARTS] = {
        [HS_LEDGER_PART_HELD] = HS_RSS_HELD,           [HS_LEDGER_PART_MMAP] = HS_RSS_MAPPED,
        [HS_LEDGER_PART_ALLOCATOR] = HS_RSS_ALLOCATOR, [HS_LEDGER_PART_RUNTIME] = HS_RSS_RUNTIME,
        [HS_LEDGER_PART_ANONYMOUS] = HS_RSS_ANONYMOUS, [HS_LEDGER_PART_SHARED] = HS_RSS_SHARED,
        [HS_LEDGER_PART_STACKS] = HS_RSS_STACKS,       [HS_LEDGER_PART_MODULES] = HS_RSS_MODULES,
        [HS_LEDGER_PART_FILES] = HS_RSS_FILES,         [HS_LEDGER_PART_RECORDER] = HS_RSS_RECORDER,
        [HS_LEDGER_PART_OTHER] = HS_RSS_OTHER,
    };
    double direction = growth->all_bytes > 0 ? 1 : -1;
    unsigned most = 0;
    if (!(fabs(growth->all_bytes) > 0) || fabs(growth->all_bytes) < growth->least_bytes) {
        return HS_RSS_STEADY;
    }
    for (unsigned part = 1; part < HS_LEDGER_PARTS; part++) {
        if (direction * growth->parts_bytes[part] > direction * growth->parts_bytes[most]) {
            most = part;
        }
    }
    return most == HS_LEDGER_PART_FREE ? cause_of_free(growth) : causes[most];
}

/* --- in words --------------------------------------------------------------------------------- */

struct named {
    unsigned part;
    double bytes;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    double of_x = fabs(x->bytes), of_y = fabs(y->bytes);
    return of_x > of_y ? -1 : of_x < of_y ? 1 : (int)x->part - (int)y->part;
}

/* Writes ": memory that malloc keeps free +17.0 MiB, blocks from malloc +1.00 MiB". */
static void write_parts(const struct hs_rss_growth *growth, struct hs_buf *buf)
{
    struct named named[HS_LEDGER_PARTS];
    char size[HS_HUMAN_BYTES];
    for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
        named[part] = (struct named){ part, growth->parts_bytes[part] };
    }
    qsort(named, HS_LEDGER_PARTS, sizeof(named[0]), compare_named);
    for (unsigned i = 0; i < NAMED_MAX; i++) {
        double bytes = named[i].bytes;
        if (!(fabs(bytes) > 0) || fabs(bytes) < growth->least_bytes) {
            break;
        }
        hs_buf_printf(buf, "%s%s %s%s", i == 0 ? ": " : ", ",
                      hs_ledger_part_words((enum hs_ledger_part_kind)named[i].part),
                      bytes > 0 ? "+" : MINUS, hs_human_bytes(size, fabs(bytes)));
    }
}

void hs_rss_verdict_write(const struct hs_rss_growth *growth, const char *per, struct hs_buf *buf)
{
    char size[HS_HUMAN_BYTES];
    if (hs_rss_cause_of(growth) == HS_RSS_STEADY) {
        hs_buf_str(buf, "Resident memory stayed about the same");
    } else {
        hs_buf_printf(buf, "Resident memory %s by %s%s%s",
                      growth->all_bytes > 0 ? "grew" : "shrank",
                      hs_human_bytes(size, fabs(growth->all_bytes)), per[0] ? " " : "", per);
    }
    write_parts(growth, buf);
    hs_buf_char(buf, '.');
}

static void write_count(struct hs_buf *buf, const char *what, uint64_t before, uint64_t after)
{
    if (before != after) {
        hs_buf_printf(buf, " The number of %s went from %llu to %llu.", what,
                      (unsigned long long)before, (unsigned long long)after);
    }
}

/* Writes what became of memory that the program has freed. */
static void write_free(const struct hs_rss_growth *growth, enum hs_rss_cause cause,
                       struct hs_buf *buf)
{
    char size[HS_HUMAN_BYTES];
    hs_buf_printf(buf, " is no leak: the program has freed it, and malloc keeps it%s.",
                  cause == HS_RSS_RETAINED    ? ", most of it at the ends of arenas"
                  : cause == HS_RSS_SCATTERED ? ", most of it between blocks that are in use"
                                              : "");
    write_count(buf, "arenas", growth->arenas_before, growth->arenas_after);
    if (hs_rss_are_arenas_many(growth->arenas_after, growth->process_count)) {
        hs_buf_str(buf, " A thread cannot use what is free in the arena of another: "
                        "MALLOC_ARENA_MAX=2 in the environment limits the number of arenas.");
    }
    if (growth->trim_bytes > 0) {
        hs_buf_printf(buf, " malloc_trim(0) would give back %s.",
                      hs_human_bytes(size, (double)growth->trim_bytes));
    }
}

void hs_rss_advice_write(const struct hs_rss_growth *growth, struct hs_buf *buf)
{
    enum hs_rss_cause cause = hs_rss_cause_of(growth);
    bool is_free = cause == HS_RSS_ARENAS || cause == HS_RSS_RETAINED || cause == HS_RSS_SCATTERED;
    enum hs_ledger_part_kind part = is_free                     ? HS_LEDGER_PART_FREE
                                    : cause == HS_RSS_HELD      ? HS_LEDGER_PART_HELD
                                    : cause == HS_RSS_MAPPED    ? HS_LEDGER_PART_MMAP
                                    : cause == HS_RSS_ALLOCATOR ? HS_LEDGER_PART_ALLOCATOR
                                    : cause == HS_RSS_RUNTIME   ? HS_LEDGER_PART_RUNTIME
                                                                : HS_LEDGER_PART_ANONYMOUS;
    bool is_most = 2 * growth->parts_bytes[part] > growth->all_bytes;
    const char *how_much = is_most ? "Most of that" : "The largest part of that";
    if (growth->all_bytes < 0) {
        return;
    }
    if (cause == HS_RSS_STACKS) {
        write_count(buf, "threads", growth->threads_before, growth->threads_after);
    } else if (is_free) {
        hs_buf_printf(buf, " %s", how_much);
        write_free(growth, cause, buf);
    } else if (cause == HS_RSS_HELD) {
        hs_buf_printf(buf, " %s is blocks that the program holds.", how_much);
    } else if (cause == HS_RSS_MAPPED) {
        hs_buf_printf(buf, " %s is memory that the program maps by itself.", how_much);
    } else if (cause == HS_RSS_ALLOCATOR) {
        hs_buf_printf(buf,
                      " %s is memory of an allocator that is not the C library's: blocks that the "
                      "program holds, and memory that the allocator keeps free.",
                      how_much);
    } else if (cause == HS_RSS_RUNTIME) {
        hs_buf_printf(buf,
                      " %s is memory of the runtime of the program's language; what its objects "
                      "are, the tools of the runtime say.",
                      how_much);
    } else if (cause == HS_RSS_ANONYMOUS) {
        hs_buf_printf(buf,
                      " %s is memory that the program, or the runtime of its language, maps by "
                      "itself.",
                      how_much);
    }
}

void hs_rss_where_write(const struct hs_rss_growth *growth, struct hs_buf *buf)
{
    enum hs_rss_cause cause = hs_rss_cause_of(growth);
    const char *what = cause == HS_RSS_HELD        ? "whose they are"
                       : cause == HS_RSS_MAPPED    ? "which functions map it (--heap mmap)"
                       : cause == HS_RSS_ALLOCATOR ? "whether blocks were added"
                                                   : NULL;
    if (what && growth->all_bytes > 0) {
        hs_buf_printf(buf, " The tables of functions of heapscope diff say %s.", what);
    }
}
