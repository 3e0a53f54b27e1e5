/*
 * Reading the options of heaps: see heap_opts.h.
 */
#include "cli/heap_opts.h"

#include <stdio.h>
#include <string.h>

#include "util/parse.h"

#define BLANKS " \t"

/* The first `bytes` of `text`, without the blanks around them. */
static const char *trim(const char *text, size_t *bytes)
{
    size_t skipped = strspn(text, BLANKS);
    skipped = skipped < *bytes ? skipped : *bytes;
    *bytes -= skipped;
    while (*bytes > 0 && strchr(BLANKS, text[skipped + *bytes - 1])) {
        --*bytes;
    }
    return text + skipped;
}

/* False: it is no interval. */
static bool parse_interval(const char *text, size_t bytes, uint64_t *ret_bytes)
{
    char word[32];
    text = trim(text, &bytes);
    if (bytes >= sizeof(word)) {
        return false;
    }
    snprintf(word, sizeof(word), "%.*s", (int)bytes, text);
    return hs_parse_size(word, ret_bytes) == 0 && *ret_bytes > 0 &&
           *ret_bytes <= HS_INTERVAL_BYTES_MAX;
}

static int add_item(const struct hs_opts_spec *spec, const char *option, const char *item,
                    size_t bytes, bool is_excluding, struct hs_heap_selection *selection)
{
    uint64_t interval_bytes = is_excluding ? HS_INTERVAL_OFF : HS_INTERVAL_SAME;
    const char *equals = is_excluding ? NULL : memchr(item, '=', bytes);
    size_t name_bytes = equals ? (size_t)(equals - item) : bytes;
    if (equals && !parse_interval(equals + 1, bytes - name_bytes - 1, &interval_bytes)) {
        return hs_args_fail(spec,
                            "--%s: '%.*s' has no interval of 1 to 1T bytes behind the '='; "
                            "--exclude-heaps leaves a heap out",
                            option, (int)bytes, item);
    }
    const char *name = trim(item, &name_bytes);
    const char *wrong = hs_heap_selection_add(selection, name, name_bytes, interval_bytes);
    return wrong ? hs_args_fail(spec, "--%s: %s", option, wrong) : HS_ARGS_GO_ON;
}

/* Adds rules from a text such as "arena=1,pool*=64K,libc.malloc"; blanks around an item are
 * dropped. */
static int add_text(const struct hs_opts_spec *spec, const char *option, const char *text,
                    bool is_excluding, struct hs_heap_selection *selection)
{
    int status = HS_ARGS_GO_ON;
    while (text && status == HS_ARGS_GO_ON) {
        size_t bytes = strcspn(text, ",");
        const char *next = text[bytes] ? text + bytes + 1 : NULL;
        const char *item = trim(text, &bytes);
        status = add_item(spec, option, item, bytes, is_excluding, selection);
        text = next;
    }
    return status;
}

static int add_list(const struct hs_opts_spec *spec, const char *option,
                    const struct hs_opt_list *list, bool is_excluding,
                    struct hs_heap_selection *selection)
{
    int status = HS_ARGS_GO_ON;
    for (size_t i = 0; i < list->count && status == HS_ARGS_GO_ON; i++) {
        status = add_text(spec, option, list->items[i], is_excluding, selection);
    }
    return status;
}

int hs_heap_opts_take(const struct hs_opts_spec *spec, const struct hs_heap_opts *opts,
                      struct hs_heap_selection *ret_selection, uint64_t *interval_bytes)
{
    struct hs_heap_selection selection = { .is_without_others =
                                               opts->heaps.count > 0 && !opts->is_all };
    /* The first rule that matches counts: --exclude-heaps limits the globs of --heaps. */
    int status = add_list(spec, "exclude-heaps", &opts->excluded, true, &selection);
    if (status == HS_ARGS_GO_ON) {
        status = add_list(spec, "heaps", &opts->heaps, false, &selection);
    }
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    if (*interval_bytes == 0) {
        *interval_bytes = HS_INTERVAL_BYTES_DEFAULT;
        hs_heap_selection_add_defaults(&selection);
    }
    hs_heap_selection_settle(&selection, interval_bytes);
    selection.has_lifetimes = opts->has_lifetimes;
    selection.is_native_only = opts->is_native_only;
    if (hs_heap_selection_check(&selection)) {
        return hs_args_fail(spec, "no heap is left to record: --exclude-heaps excludes all");
    }
    *ret_selection = selection;
    return HS_ARGS_GO_ON;
}

void hs_heap_opts_deinit(struct hs_heap_opts *opts)
{
    hs_opt_list_deinit(&opts->heaps);
    hs_opt_list_deinit(&opts->excluded);
}
