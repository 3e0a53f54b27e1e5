/*
 * Rules for heaps: see heap_selection.h.
 */
#include "collect/region/heap_selection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rt/check.h"
#include "rt/text.h"

const char *hs_heap_selection_add(struct hs_heap_selection *selection, const char *name,
                                  size_t name_bytes, uint64_t interval_bytes)
{
    if (name_bytes == 0) {
        return "the name of a heap must not be empty";
    }
    if (name_bytes >= HS_HEAP_NAME_BYTES) {
        return "the name of a heap has at most 63 bytes";
    }
    if (selection->rule_count == HS_REGION_HEAP_RULES) {
        return "at most 32 heaps can be named; a name may contain * for any characters";
    }
    struct hs_heap_rule_v2 *rule = &selection->rules[selection->rule_count++];
    *rule = (struct hs_heap_rule_v2){ .interval_bytes = interval_bytes };
    memcpy(rule->pattern, name, name_bytes);
    return NULL;
}

static uint64_t interval_of_others(const struct hs_heap_selection *selection)
{
    return selection->is_without_others           ? HS_INTERVAL_OFF
           : selection->other_interval_bytes == 0 ? HS_INTERVAL_SAME
                                                  : selection->other_interval_bytes;
}

/* What the rules say, without regard to is_without_malloc. */
static uint64_t interval_by_rules(const struct hs_heap_selection *selection, const char *heap)
{
    for (uint32_t i = 0; i < selection->rule_count; i++) {
        if (hs_text_matches(selection->rules[i].pattern, heap)) {
            return selection->rules[i].interval_bytes;
        }
    }
    return interval_of_others(selection);
}

void hs_heap_selection_add_defaults(struct hs_heap_selection *selection)
{
    struct hs_heap_rule_v2 *rules = selection->rules;
    if (interval_by_rules(selection, HS_HEAP_NAME_PYTHON) != HS_INTERVAL_SAME ||
        selection->rule_count == HS_REGION_HEAP_RULES) {
        return;
    }
    /* First: a glob of another rule may match it. */
    memmove(rules + 1, rules, selection->rule_count++ * sizeof(*rules));
    rules[0] = (struct hs_heap_rule_v2){ .pattern = HS_HEAP_NAME_PYTHON,
                                         .interval_bytes = HS_INTERVAL_BYTES_DEFAULT_PYTHON };
}

bool hs_heap_selection_is_asked(const struct hs_heap_selection *selection, uint32_t rule)
{
    const char *name = selection->rules[rule].pattern;
    bool is_ours = strcmp(name, HS_HEAP_NAME_PYTHON) == 0 || strcmp(name, HS_HEAP_NAME_MMAP) == 0;
    return !is_ours || (selection->is_without_others &&
                        selection->rules[rule].interval_bytes != HS_INTERVAL_OFF);
}

/* The interval of another heap, when the session's interval changes from base_bytes to own_bytes,
 * or stays. */
static uint64_t settled(uint64_t interval_bytes, uint64_t base_bytes, uint64_t own_bytes)
{
    interval_bytes = interval_bytes == HS_INTERVAL_SAME ? base_bytes : interval_bytes;
    return interval_bytes == own_bytes ? HS_INTERVAL_SAME : interval_bytes;
}

void hs_heap_selection_settle(struct hs_heap_selection *selection, uint64_t *interval_bytes)
{
    uint64_t base_bytes = *interval_bytes;
    uint64_t own_bytes = interval_by_rules(selection, HS_HEAP_MALLOC);
    uint64_t others = interval_of_others(selection);
    uint32_t kept = 0;
    selection->is_without_malloc = own_bytes == HS_INTERVAL_OFF;
    if (own_bytes == HS_INTERVAL_OFF || own_bytes == HS_INTERVAL_SAME) {
        own_bytes = base_bytes;
    }
    for (uint32_t i = 0; i < selection->rule_count; i++) {
        struct hs_heap_rule_v2 rule = selection->rules[i];
        if (strcmp(rule.pattern, "*") == 0) {
            others = rule.interval_bytes;
            break;
        }
        if (strcmp(rule.pattern, HS_HEAP_MALLOC) != 0) {
            rule.interval_bytes = settled(rule.interval_bytes, base_bytes, own_bytes);
            selection->rules[kept++] = rule;
        }
    }
    memset(selection->rules + kept, 0, (HS_REGION_HEAP_RULES - kept) * sizeof(selection->rules[0]));
    selection->rule_count = kept;
    others = settled(others, base_bytes, own_bytes);
    selection->is_without_others = others == HS_INTERVAL_OFF;
    selection->other_interval_bytes =
        others == HS_INTERVAL_OFF || others == HS_INTERVAL_SAME ? 0 : others;
    *interval_bytes = own_bytes;
}

static bool is_interval(uint64_t interval_bytes)
{
    return interval_bytes == HS_INTERVAL_SAME || interval_bytes <= HS_INTERVAL_BYTES_MAX;
}

const char *hs_heap_selection_check(const struct hs_heap_selection *selection)
{
    bool is_any = !selection->is_without_malloc || !selection->is_without_others;
    if (selection->rule_count > HS_REGION_HEAP_RULES) {
        return "it names more than 32 heaps";
    }
    for (uint32_t i = 0; i < selection->rule_count; i++) {
        const struct hs_heap_rule_v2 *rule = &selection->rules[i];
        size_t bytes = strnlen(rule->pattern, sizeof(rule->pattern));
        if (bytes == 0 || bytes == sizeof(rule->pattern)) {
            return "the name of a heap has 1 to 63 bytes";
        }
        if (!is_interval(rule->interval_bytes)) {
            return "the interval of a heap must be at least 1 byte, and at most 1T";
        }
        is_any |= rule->interval_bytes != HS_INTERVAL_OFF;
    }
    if (selection->other_interval_bytes > HS_INTERVAL_BYTES_MAX) {
        return "the interval of a heap must be at least 1 byte, and at most 1T";
    }
    return is_any ? NULL : "it leaves out every heap";
}

bool hs_heap_selection_is_all(const struct hs_heap_selection *selection)
{
    return !selection->is_without_malloc && !selection->is_without_others &&
           selection->other_interval_bytes == 0 && selection->rule_count == 0;
}

bool hs_heap_selection_is_default(const struct hs_heap_selection *selection)
{
    return hs_heap_selection_is_all(selection) && !selection->has_lifetimes &&
           !selection->is_native_only;
}

uint64_t hs_heap_selection_interval(const struct hs_heap_selection *selection, const char *heap)
{
    if (strcmp(heap, HS_HEAP_MALLOC) == 0) {
        return selection->is_without_malloc ? HS_INTERVAL_OFF : HS_INTERVAL_SAME;
    }
    return interval_by_rules(selection, heap);
}

uint32_t hs_heap_selection_interval_count(const struct hs_heap_selection *selection)
{
    uint32_t count = selection->other_interval_bytes != 0;
    for (uint32_t i = 0; i < selection->rule_count; i++) {
        uint64_t interval_bytes = selection->rules[i].interval_bytes;
        bool is_new = interval_bytes != HS_INTERVAL_OFF && interval_bytes != HS_INTERVAL_SAME &&
                      interval_bytes != selection->other_interval_bytes;
        for (uint32_t k = 0; is_new && k < i; k++) {
            is_new = selection->rules[k].interval_bytes != interval_bytes;
        }
        count += is_new;
    }
    return count;
}

/* --- for clients ------------------------------------------------------------------------------ */

/* An interval of its own grows like that of the process. */
static uint64_t scaled(uint64_t interval_bytes, uint64_t factor)
{
    if (interval_bytes == HS_INTERVAL_OFF || interval_bytes == HS_INTERVAL_SAME) {
        return interval_bytes;
    }
    return interval_bytes > HS_INTERVAL_BYTES_MAX / factor ? HS_INTERVAL_BYTES_MAX
                                                           : interval_bytes * factor;
}

void hs_heap_selection_page(const struct hs_heap_selection *selection, uint64_t asked_bytes,
                            uint64_t now_bytes, struct hs_heap_page *ret_page)
{
    uint64_t factor = now_bytes > asked_bytes && asked_bytes > 0 ? now_bytes / asked_bytes : 1;
    HS_ASSERT(selection->rule_count <= HS_REGION_HEAP_RULES);
    memset(ret_page, 0, sizeof(*ret_page));
    ret_page->is_without_malloc = selection->is_without_malloc;
    ret_page->has_lifetimes = selection->has_lifetimes;
    ret_page->is_native_only = selection->is_native_only;
    ret_page->selection.other_interval_bytes = scaled(interval_of_others(selection), factor);
    ret_page->selection.rule_count = selection->rule_count;
    for (uint32_t i = 0; i < selection->rule_count; i++) {
        ret_page->selection.rules[i] = selection->rules[i];
        ret_page->selection.rules[i].interval_bytes =
            scaled(selection->rules[i].interval_bytes, factor);
    }
}

/* Adds "PATTERN=BYTES"; what has a meaning of its own in the text becomes "any character". */
static size_t put_item(char *text, size_t at, const char *pattern, uint64_t interval_bytes)
{
    at += (size_t)snprintf(text + at, HS_CTL_HEAPS_BYTES - at, "%s", at > 0 ? "," : "");
    for (; *pattern; pattern++) {
        text[at++] = strchr(",=+", *pattern) ? '?' : *pattern;
    }
    text[at] = '\0';
    if (interval_bytes != HS_INTERVAL_SAME) {
        at += (size_t)snprintf(text + at, HS_CTL_HEAPS_BYTES - at, "=%" PRIu64, interval_bytes);
    }
    HS_ASSERT(at < HS_CTL_HEAPS_BYTES);
    return at;
}

void hs_heap_selection_text(const struct hs_heap_selection *selection,
                            char ret_text[HS_CTL_HEAPS_BYTES])
{
    /* The longest: 32 names of 63 bytes, each with an interval of 13 digits. */
    _Static_assert(HS_CTL_HEAPS_BYTES > HS_REGION_HEAP_RULES * (HS_HEAP_NAME_BYTES + 15U) + 64U,
                   "room for the longest text");
    size_t at = 0;
    ret_text[0] = '\0';
    if (selection->has_lifetimes) {
        at = (size_t)snprintf(ret_text, HS_CTL_HEAPS_BYTES, "%s", HS_HEAPS_LIFETIMES);
    }
    if (selection->is_native_only) {
        at += (size_t)snprintf(ret_text + at, HS_CTL_HEAPS_BYTES - at, "%s%s", at > 0 ? "," : "",
                               HS_HEAPS_NATIVE_ONLY);
    }
    if (hs_heap_selection_is_all(selection)) {
        return;
    }
    /* First: another rule may match it too. */
    at = put_item(ret_text, at, HS_HEAP_MALLOC,
                  selection->is_without_malloc ? HS_INTERVAL_OFF : HS_INTERVAL_SAME);
    for (uint32_t i = 0; i < selection->rule_count; i++) {
        at =
            put_item(ret_text, at, selection->rules[i].pattern, selection->rules[i].interval_bytes);
    }
    uint64_t others = interval_of_others(selection);
    if (others != HS_INTERVAL_SAME) {
        put_item(ret_text, at, "*", others);
    }
}
