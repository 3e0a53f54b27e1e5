/*
 * See suppressions.h.
 */
#include "check/suppressions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/read/text_lines.h"
#include "rt/base.h"
#include "rt/check.h"
#include "util/array.h"

#define UNKNOWN (UINT32_MAX - 1) /* of a string: not matched yet */

/* The types of suppressions of other sanitizers, and other types of LeakSanitizer's relatives. */
static const char *const other_types[] = {
    /* AddressSanitizer */
    "interceptor_name",
    "interceptor_via_fun",
    "interceptor_via_lib",
    "odr_violation",
    "alloc_dealloc_mismatch",
    /* ThreadSanitizer */
    "race",
    "race_top",
    "mutex",
    "thread",
    "signal",
    "deadlock",
    "called_from_lib",
    /* UndefinedBehaviorSanitizer: names of checks, and of groups of them */
    "alignment",
    "bool",
    "bounds",
    "builtin",
    "enum",
    "fun_ptr",
    "float-cast-overflow",
    "float-divide-by-zero",
    "function",
    "implicit-conversion",
    "implicit-integer-sign-change",
    "implicit-signed-integer-truncation",
    "implicit-unsigned-integer-truncation",
    "integer-divide-by-zero",
    "invalid-builtin-use",
    "nonnull-attribute",
    "null",
    "nullability-arg",
    "nullability-assign",
    "nullability-return",
    "object-size",
    "pointer-overflow",
    "return",
    "returns-nonnull-attribute",
    "shift",
    "shift-base",
    "shift-exponent",
    "signed-integer-overflow",
    "undefined",
    "unreachable",
    "unsigned-integer-overflow",
    "unsigned-shift-base",
    "vla-bound",
    "vptr",
    "vptr_check",
};

void hs_suppressions_deinit(struct hs_suppressions *suppressions)
{
    for (size_t i = 0; i < suppressions->count; i++) {
        free(suppressions->items[i].pattern);
        free(suppressions->items[i].path);
    }
    free(suppressions->items);
    *suppressions = (struct hs_suppressions){ 0 };
}

static bool is_other_type(const char *type, size_t bytes)
{
    for (size_t i = 0; i < HS_COUNT_OF(other_types); i++) {
        if (strlen(other_types[i]) == bytes && memcmp(type, other_types[i], bytes) == 0) {
            return true;
        }
    }
    return false;
}

static int add_pattern(struct hs_suppressions *suppressions, const char *path, unsigned line,
                       const char *text, size_t bytes)
{
    for (size_t i = 0; i < suppressions->count; i++) {
        const char *known = suppressions->items[i].pattern;
        if (strlen(known) == bytes && memcmp(known, text, bytes) == 0) {
            return 0;
        }
    }
    int err = hs_array_reserve(&suppressions->items, &suppressions->capacity,
                               suppressions->count + 1, sizeof(*suppressions->items));
    struct hs_suppression item = { .line = line };
    if (err == 0) {
        item.pattern = strndup(text, bytes);
        item.path = strdup(path);
        err = item.pattern && item.path ? 0 : -ENOMEM;
    }
    if (err != 0) {
        free(item.pattern);
        free(item.path);
        return err;
    }
    HS_ASSERT(item.pattern[0] != '\0');
    suppressions->items[suppressions->count++] = item;
    return 0;
}

static int parse_line(struct hs_suppressions *suppressions, const char *path, unsigned line_no,
                      const struct hs_lines *line, struct hs_text_error *error)
{
    const char *colon = memchr(line->line, ':', line->bytes);
    size_t type_bytes = colon ? (size_t)(colon - line->line) : 0;
    if (line->bytes == 0 || line->line[0] == '#') {
        return 0;
    }
    if (memchr(line->line, '\0', line->bytes)) {
        return hs_text_error_set(error, line_no, "a NUL byte: this is not a text file");
    }
    if (colon && is_other_type(line->line, type_bytes)) {
        suppressions->ignored_count++;
        return 0;
    }
    if (!colon || type_bytes != strlen("leak") || memcmp(line->line, "leak", type_bytes) != 0) {
        return hs_text_error_set(error, line_no,
                                 "'%.*s' is not a suppression, such as leak:PATTERN",
                                 (int)(line->bytes > 100 ? 100 : line->bytes), line->line);
    }
    const char *pattern = colon + 1;
    size_t pattern_bytes = line->bytes - type_bytes - 1;
    if (pattern_bytes == 0) {
        return hs_text_error_set(error, line_no,
                                 "the pattern is missing; leak:* suppresses everything");
    }
    return add_pattern(suppressions, path, line_no, pattern, pattern_bytes);
}

int hs_suppressions_parse(struct hs_suppressions *suppressions, const char *path, const char *text,
                          size_t text_bytes, struct hs_text_error *ret_error)
{
    struct hs_lines lines = { .at = text, .end = text + text_bytes };
    int err = 0;
    for (unsigned line_no = 1; err == 0 && hs_lines_next(&lines); line_no++) {
        err = parse_line(suppressions, path, line_no, &lines, ret_error);
    }
    return err;
}

bool hs_suppression_fits(const char *pattern, const char *text)
{
    bool is_at_start = pattern[0] == '^';
    bool is_after_star = false;
    if (text[0] == '\0') {
        return false;
    }
    pattern += is_at_start;
    while (pattern[0] != '\0') {
        if (pattern[0] == '*') {
            pattern++;
            is_at_start = false;
            is_after_star = true;
            continue;
        }
        if (pattern[0] == '$') {
            return text[0] == '\0' || is_after_star;
        }
        size_t part_bytes = strcspn(pattern, "*$");
        const char *found = memmem(text, strlen(text), pattern, part_bytes);
        if (!found || (is_at_start && found != text)) {
            return false;
        }
        text = found + part_bytes;
        pattern += part_bytes;
        is_at_start = false;
        is_after_star = false;
    }
    return true;
}

/* A search in one profile. Most strings occur in many frames, and are matched once. */
struct search {
    const struct hs_suppressions *suppressions;
    const struct hs_profile *profile;
    uint32_t *by_string;
};

static uint32_t find(struct search *search, uint32_t string)
{
    const struct hs_suppressions *s = search->suppressions;
    if (string >= search->profile->string_count) {
        return HS_SUPPRESSION_NONE;
    }
    uint32_t *known = &search->by_string[string];
    if (*known == UNKNOWN) {
        *known = HS_SUPPRESSION_NONE;
        for (size_t i = 0; i < s->count && *known == HS_SUPPRESSION_NONE; i++) {
            if (hs_suppression_fits(s->items[i].pattern, search->profile->strings[string])) {
                *known = (uint32_t)i;
            }
        }
    }
    return *known;
}

/*
 * True for operator new. LeakSanitizer brings its own, so that none of its stacks goes through the
 * library's. Here every C++ stack does, and "leak:libstdc++.so" would match them all.
 */
static bool is_replaced(const char *name)
{
    static const char start[] = "operator new";
    size_t bytes = sizeof(start) - 1;
    return strncmp(name, start, bytes) == 0 && (name[bytes] == '(' || name[bytes] == '[');
}

static uint32_t find_for_node(struct search *search, const struct hs_agg *agg,
                              const struct hs_agg_node *node)
{
    const struct hs_profile *p = search->profile;
    const struct hs_agg_function *function = &agg->functions[node->function];
    uint32_t found = HS_SUPPRESSION_NONE;
    if (function->kind == HS_FRAME_KIND_MARKER) {
        return found;
    }
    if (is_replaced(hs_profile_string(p, function->name))) {
        return find(search, function->name);
    }
    if (function->module < p->module_count) {
        found = find(search, p->modules[function->module].path);
    }
    if (found == HS_SUPPRESSION_NONE) {
        found = find(search, function->name);
    }
    if (found == HS_SUPPRESSION_NONE && node->line < p->line_count) {
        found = find(search, p->lines[node->line].file);
    }
    return found;
}

int hs_suppressions_of_nodes(const struct hs_suppressions *suppressions, const struct hs_agg *agg,
                             uint32_t **ret_by_node)
{
    struct search search = { .suppressions = suppressions, .profile = agg->profile };
    uint32_t *by_node = calloc(agg->node_count + 1u, sizeof(*by_node));
    search.by_string = calloc(agg->profile->string_count + 1u, sizeof(*search.by_string));
    if (!by_node || !search.by_string) {
        free(by_node);
        free(search.by_string);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < agg->profile->string_count; i++) {
        search.by_string[i] = UNKNOWN;
    }
    for (uint32_t i = 0; i < agg->node_count; i++) {
        uint32_t parent = agg->nodes[i].parent;
        by_node[i] = find_for_node(&search, agg, &agg->nodes[i]);
        if (by_node[i] == HS_SUPPRESSION_NONE && parent != HS_NODE_NONE) {
            by_node[i] = by_node[parent];
        }
    }
    free(search.by_string);
    *ret_by_node = by_node;
    return 0;
}
