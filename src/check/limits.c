/*
 * See limits.h. This file parses the values of limits; limits_file.c reads files of limits.
 */
#include "check/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "util/array.h"
#include "util/parse.h"
#include "util/suggest.h"

#define GROWTH_PERCENT_MAX 1e9

const char *const hs_limit_names[HS_LIMIT_N] = {
    [HS_LIMIT_LIVE] = "max-live",
    [HS_LIMIT_PEAK] = "max-peak",
    [HS_LIMIT_RSS] = "max-rss",
    [HS_LIMIT_UNEXPLAINED] = "max-unexplained",
    [HS_LIMIT_LEAK] = "max-leak",
    [HS_LIMIT_LEAK_STACK] = "max-leak-stack",
    [HS_LIMIT_LEAK_GROWTH] = "max-leak-growth",
    [HS_LIMIT_ALLOCS] = "max-allocs",
    [HS_LIMIT_GROWTH] = "max-growth",
};

void hs_limits_deinit(struct hs_limits *limits)
{
    for (size_t i = 0; i < limits->stack_count; i++) {
        free(limits->stacks[i].pattern);
        regfree(&limits->stacks[i].regex);
    }
    for (size_t i = 0; i < limits->suppression_count; i++) {
        free(limits->suppression_paths[i]);
    }
    for (size_t i = 0; i < limits->heap_count; i++) {
        free(limits->heaps[i]);
    }
    free(limits->stacks);
    free(limits->suppression_paths);
    free(limits->heaps);
    free(limits->against);
    *limits = (struct hs_limits){ 0 };
}

static int set_size(struct hs_limit *limit, const char *value, struct hs_text_error *error)
{
    uint64_t bytes;
    if (hs_parse_size(value, &bytes) < 0) {
        return hs_text_error_set(error, 0, "'%s' is not a size, such as 64K or 200M", value);
    }
    *limit = (struct hs_limit){ .is_set = true, .value = (double)bytes };
    return 0;
}

static int set_count(struct hs_limit *limit, const char *value, struct hs_text_error *error)
{
    uint64_t count;
    if (hs_parse_number(value, &count) < 0) {
        return hs_text_error_set(error, 0, "'%s' is not a number", value);
    }
    *limit = (struct hs_limit){ .is_set = true, .value = (double)count };
    return 0;
}

/* Reads "10M", or "10M/h": bytes an hour; "10M/m" and "10M/d" are for a minute and a day. */
static int set_rate(struct hs_limit *limit, const char *value, struct hs_text_error *error)
{
    static const struct {
        const char *per;
        double times;
    } units[] = { { "", 1 }, { "h", 1 }, { "m", 60 }, { "d", 1.0 / 24 } };
    size_t bytes = strcspn(value, "/");
    char *size = strndup(value, bytes);
    if (!size) {
        return -ENOMEM;
    }
    int err = -EINVAL;
    for (size_t i = value[bytes] ? 1 : 0; i < HS_COUNT_OF(units) && err != 0; i++) {
        if (strcmp(value[bytes] ? value + bytes + 1 : "", units[i].per) == 0) {
            err = set_size(limit, size, error);
            limit->value *= err == 0 ? units[i].times : 1;
        }
    }
    free(size);
    return err == 0 ? 0
                    : hs_text_error_set(error, 0,
                                        "'%s' is not a growth, such as 10M/h: a size by m, h or d",
                                        value);
}

/* Reads "5%" or "10M". */
static int set_share_or_size(struct hs_limit *limit, const char *value, struct hs_text_error *error)
{
    char *end = NULL;
    double percent = value[0] >= '0' && value[0] <= '9' ? strtod(value, &end) : -1;
    if (percent >= 0 && percent <= GROWTH_PERCENT_MAX && end && strcmp(end, "%") == 0) {
        *limit = (struct hs_limit){ .is_set = true, .is_share = true, .value = percent / 100 };
        return 0;
    }
    if (set_size(limit, value, error) < 0) {
        return hs_text_error_set(
            error, 0, "'%s' is neither a share, such as 5%%, nor a size, such as 10M", value);
    }
    return 0;
}

static struct hs_stack_limit *find_stack(const struct hs_limits *limits, const char *pattern,
                                         size_t bytes)
{
    for (size_t i = 0; i < limits->stack_count; i++) {
        const char *known = limits->stacks[i].pattern;
        if (strlen(known) == bytes && memcmp(known, pattern, bytes) == 0) {
            return &limits->stacks[i];
        }
    }
    return NULL;
}

static int add_stack(struct hs_limits *limits, const char *pattern, size_t pattern_bytes,
                     struct hs_text_error *error)
{
    char why[128];
    int err = hs_array_reserve(&limits->stacks, &limits->stack_capacity, limits->stack_count + 1,
                               sizeof(*limits->stacks));
    if (err < 0) {
        return err;
    }
    struct hs_stack_limit *stack = &limits->stacks[limits->stack_count];
    stack->pattern = strndup(pattern, pattern_bytes);
    if (!stack->pattern) {
        return -ENOMEM;
    }
    int code = regcomp(&stack->regex, stack->pattern, REG_EXTENDED | REG_NOSUB);
    if (code == 0) {
        limits->stack_count++;
        return 0;
    }
    regerror(code, NULL, why, sizeof(why));
    hs_text_error_set(error, 0, "'%s' is not a regular expression: %s", stack->pattern, why);
    free(stack->pattern);
    return code == REG_ESPACE ? -ENOMEM : -EINVAL;
}

/* Reads "^Cache::=10M". The size follows the last =. */
static int set_stack(struct hs_limits *limits, const char *value, struct hs_text_error *error)
{
    const char *equals = strrchr(value, '=');
    uint64_t bytes;
    if (!equals || equals == value || hs_parse_size(equals + 1, &bytes) < 0) {
        return hs_text_error_set(error, 0, "'%s' is not REGEX=SIZE, such as parse.*=10M", value);
    }
    size_t pattern_bytes = (size_t)(equals - value);
    struct hs_stack_limit *stack = find_stack(limits, value, pattern_bytes);
    if (!stack) {
        int err = add_stack(limits, value, pattern_bytes, error);
        if (err < 0) {
            return err;
        }
        stack = &limits->stacks[limits->stack_count - 1];
    }
    stack->bytes = (double)bytes;
    return 0;
}

static int set_against(struct hs_limits *limits, const char *value)
{
    char *path = strdup(value);
    if (!path) {
        return -ENOMEM;
    }
    free(limits->against);
    limits->against = path;
    return 0;
}

/* Adds a text to a list, once. */
static int add_once(char ***list, size_t *count, size_t *capacity, const char *value)
{
    for (size_t i = 0; i < *count; i++) {
        if (strcmp((*list)[i], value) == 0) {
            return 0;
        }
    }
    int err = hs_array_reserve(list, capacity, *count + 1, sizeof(**list));
    char *text = err == 0 ? strdup(value) : NULL;
    if (!text) {
        return -ENOMEM;
    }
    (*list)[(*count)++] = text;
    return 0;
}

static int add_suppressions(struct hs_limits *limits, const char *value)
{
    return add_once(&limits->suppression_paths, &limits->suppression_count,
                    &limits->suppression_capacity, value);
}

static int add_heap(struct hs_limits *limits, const char *value, struct hs_text_error *error)
{
    if (value[0] == '\0') {
        return hs_text_error_set(error, 0, "'heap' needs the name of a heap");
    }
    return add_once(&limits->heaps, &limits->heap_count, &limits->heap_capacity, value);
}

static int set_by_kind(struct hs_limits *limits, enum hs_limit_kind kind, const char *value,
                       struct hs_text_error *error)
{
    struct hs_limit *limit = &limits->by[kind];
    if (kind == HS_LIMIT_ALLOCS) {
        return set_count(limit, value, error);
    }
    if (kind == HS_LIMIT_LEAK_GROWTH) {
        return set_rate(limit, value, error);
    }
    return kind == HS_LIMIT_GROWTH || kind == HS_LIMIT_UNEXPLAINED
               ? set_share_or_size(limit, value, error)
               : set_size(limit, value, error);
}

static int fail_unknown(const char *name, struct hs_text_error *error)
{
    static const char *const names[] = {
        "max-live",       "max-peak",        "max-rss",      "max-unexplained", "max-leak",
        "max-leak-stack", "max-leak-growth", "max-allocs",   "max-growth",      "stack",
        "heap",           "against",         "suppressions", "strict",
    };
    const char *near = hs_suggest_nearest(name, names, HS_COUNT_OF(names));
    return hs_text_error_set(error, 0, "'%s' is not a limit%s%s%s", name,
                             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int hs_limits_set(struct hs_limits *limits, const char *name, const char *value,
                  struct hs_text_error *ret_error)
{
    ret_error->line = 0;
    for (unsigned kind = 0; kind < HS_LIMIT_N; kind++) {
        if (strcmp(name, hs_limit_names[kind]) == 0) {
            return set_by_kind(limits, kind, value, ret_error);
        }
    }
    if (strcmp(name, "strict") == 0) {
        limits->is_strict = true;
        return value[0] == '\0' ? 0 : hs_text_error_set(ret_error, 0, "'strict' takes no value");
    }
    bool is_path = strcmp(name, "against") == 0 || strcmp(name, "suppressions") == 0;
    if (is_path && value[0] == '\0') {
        return hs_text_error_set(ret_error, 0, "'%s' needs the name of a file", name);
    }
    return strcmp(name, "stack") == 0     ? set_stack(limits, value, ret_error)
           : strcmp(name, "heap") == 0    ? add_heap(limits, value, ret_error)
           : strcmp(name, "against") == 0 ? set_against(limits, value)
           : is_path                      ? add_suppressions(limits, value)
                                          : fail_unknown(name, ret_error);
}

int hs_limits_are_whole(const struct hs_limits *limits, struct hs_text_error *ret_error)
{
    bool is_about_leaks = limits->by[HS_LIMIT_LEAK].is_set ||
                          limits->by[HS_LIMIT_LEAK_STACK].is_set ||
                          limits->by[HS_LIMIT_LEAK_GROWTH].is_set;
    bool has_any = limits->stack_count > 0;
    for (unsigned kind = 0; kind < HS_LIMIT_N; kind++) {
        has_any |= limits->by[kind].is_set;
    }
    if (!limits->against != !limits->by[HS_LIMIT_GROWTH].is_set) {
        return hs_text_error_set(ret_error, 0, "--against and --max-growth belong together");
    }
    if (!has_any) {
        return hs_text_error_set(
            ret_error, 0,
            "no limit was given: --max-live, --max-peak, --max-rss, --max-unexplained, "
            "--max-leak, --max-leak-stack, --max-leak-growth, --max-allocs, --stack, --max-growth "
            "or "
            "--limits");
    }
    if (limits->suppression_count > 0 && !is_about_leaks) {
        return hs_text_error_set(ret_error, 0,
                                 "--suppressions belongs to --max-leak, --max-leak-stack and "
                                 "--max-leak-growth");
    }
    return 0;
}
