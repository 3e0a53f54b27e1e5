/*
 * Which heaps a session records, and at which intervals.
 *
 *     struct hs_heap_selection selection = { 0 };              all heaps, at the session's interval
 *     hs_heap_selection_add(&selection, "pool*", 5, 65536);    rules; the first that matches counts
 *     hs_heap_selection_settle(&selection, &interval_bytes);   malloc's part of it becomes plain
 *
 * A session has one interval, that of malloc's heap, as its process does; a heap without an
 * interval of its own has the same. Settling makes this true: if the rules give malloc another
 * interval than the session's, that becomes the session's, and all others get theirs explicitly.
 *
 * It takes two forms: the text of HS_ENV_HEAPS, for a program that starts or is attached to, and
 * the fields of the control page. A client makes the same fields of the text.
 *
 * When a budget widens the interval of a process, all intervals grow by the same factor.
 *
 * Holds     once settled, no rule names libc.malloc or * alone: is_without_malloc and the fields of
 *           the other heaps say that. A rule's interval is HS_INTERVAL_OFF, HS_INTERVAL_SAME, or
 *           at most HS_INTERVAL_BYTES_MAX.
 * Threads   none; a value.
 * See       fmt/region_layout.h, fmt/ctl_layout.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fmt/ctl_layout.h"
#include "fmt/region_layout.h"

#define HS_INTERVAL_BYTES_MAX (UINT64_C(1) << 40)
#define HS_HEAP_MALLOC        "libc.malloc"
/* The intervals when none is asked for. Python programs allocate small objects at a rate at which
 * the samples of 4 KiB would cost several percent of their CPU time. */
#define HS_INTERVAL_BYTES_DEFAULT        4096
#define HS_INTERVAL_BYTES_DEFAULT_PYTHON 32768

/* Zeroed: all heaps. */
struct hs_heap_selection {
    bool is_without_malloc;
    bool is_without_others;        /* heaps that no rule names are not recorded */
    bool has_lifetimes;            /* of the heaps that are recorded, lifetimes are, too */
    bool is_native_only;           /* stacks have no functions of interpreters or of a JVM */
    uint64_t other_interval_bytes; /* theirs; 0: the session's */
    uint32_t rule_count;
    struct hs_heap_rule_v2 rules[HS_REGION_HEAP_RULES];
};

/* What the control page says. */
struct hs_heap_page {
    bool is_without_malloc;
    bool has_lifetimes;
    bool is_native_only;
    struct hs_heap_selection_v2 selection; /* unused rules are 0 */
};

/* Adds a rule for a name or glob, HS_INTERVAL_OFF to leave these heaps out. Returns NULL, or what
 * is wrong with it. */
const char *hs_heap_selection_add(struct hs_heap_selection *selection, const char *name,
                                  size_t name_bytes, uint64_t interval_bytes);
/* Gives the heaps that have one their default interval, where no rule gives them another. Before
 * the selection is settled, and if the session's interval was not asked for, either. */
void hs_heap_selection_add_defaults(struct hs_heap_selection *selection);
/* Settles the selection; *interval_bytes is the session's interval, and may change. */
void hs_heap_selection_settle(struct hs_heap_selection *selection, uint64_t *interval_bytes);
/* Returns NULL if a settled selection is valid, otherwise what is wrong. */
const char *hs_heap_selection_check(const struct hs_heap_selection *selection);

/* Are all heaps recorded at the session's interval? */
bool hs_heap_selection_is_all(const struct hs_heap_selection *selection);
/* Is that so, and is everything else as when nothing is asked for? */
bool hs_heap_selection_is_default(const struct hs_heap_selection *selection);
/* The interval of a heap: HS_INTERVAL_OFF, HS_INTERVAL_SAME, or bytes. */
uint64_t hs_heap_selection_interval(const struct hs_heap_selection *selection, const char *heap);
/* Has the user named the heaps of this rule as something that is to be there? False: the rule is
 * about a heap that heapscope itself names, and that not every program has. */
bool hs_heap_selection_is_asked(const struct hs_heap_selection *selection, uint32_t rule);
/* How many intervals there are besides the session's, at most. */
uint32_t hs_heap_selection_interval_count(const struct hs_heap_selection *selection);

/* The fields of the control page of a process whose interval is now_bytes, for a session that asked
 * for asked_bytes. */
void hs_heap_selection_page(const struct hs_heap_selection *selection, uint64_t asked_bytes,
                            uint64_t now_bytes, struct hs_heap_page *ret_page);
/* The text of HS_ENV_HEAPS; "": all heaps, without lifetimes. */
void hs_heap_selection_text(const struct hs_heap_selection *selection,
                            char ret_text[HS_CTL_HEAPS_BYTES]);
