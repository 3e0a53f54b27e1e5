/*
 * The configuration of a flame graph: packed by an SQL function, unpacked by the table. See
 * flamegraph_config.h.
 */
#include "sql/flamegraph/flamegraph_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rt/base.h"
#include "util/buf.h"

static const char *const view_names[HS_FLAMEGRAPH_VIEW_N] = {
    [HS_FLAMEGRAPH_TOP_DOWN] = "TOP_DOWN",
    [HS_FLAMEGRAPH_BOTTOM_UP] = "BOTTOM_UP",
    [HS_FLAMEGRAPH_PIVOT] = "PIVOT",
    [HS_FLAMEGRAPH_FROM_FRAME] = "FROM_FRAME",
};
static const char *const filter_names[HS_FLAMEGRAPH_FILTER_N] = {
    [HS_FLAMEGRAPH_SHOW_STACK] = "SHOW_STACK",
    [HS_FLAMEGRAPH_HIDE_STACK] = "HIDE_STACK",
    [HS_FLAMEGRAPH_HIDE_FRAME] = "HIDE_FRAME",
};
static const char *const aggregate_names[HS_FLAMEGRAPH_AGGREGATE_N] = {
    [HS_FLAMEGRAPH_SUM] = "SUM",
    [HS_FLAMEGRAPH_ONE_OR_SUMMARY] = "ONE_OR_SUMMARY",
    [HS_FLAMEGRAPH_CONCAT_WITH_COMMA] = "CONCAT_WITH_COMMA",
};

struct reader {
    const char *data;
    size_t bytes, off;
    char *error;
};

bool hs_flamegraph_word_is(struct hs_flamegraph_word word, const char *text)
{
    return strlen(text) == word.bytes && strncasecmp(word.text, text, word.bytes) == 0;
}

static int fail(struct reader *reader, const char *format, struct hs_flamegraph_word word)
{
    snprintf(reader->error, HS_PATTERN_ERROR_BYTES, format,
             (int)(word.bytes < 80 ? word.bytes : 80), word.text);
    return -EINVAL;
}

static int next_word(struct reader *reader, const char *what, struct hs_flamegraph_word *ret_word)
{
    uint32_t bytes;
    if (reader->bytes - reader->off < sizeof(bytes)) {
        snprintf(reader->error, HS_PATTERN_ERROR_BYTES, "the arguments end where %s is expected",
                 what);
        return -EINVAL;
    }
    memcpy(&bytes, reader->data + reader->off, sizeof(bytes));
    reader->off += sizeof(bytes);
    if (bytes > reader->bytes - reader->off) {
        snprintf(reader->error, HS_PATTERN_ERROR_BYTES,
                 "this configuration was not made by "
                 "__intrinsic_flamegraph_config");
        return -EINVAL;
    }
    *ret_word = (struct hs_flamegraph_word){ reader->data + reader->off, bytes };
    reader->off += bytes;
    return 0;
}

static int next_choice(struct reader *reader, const char *const *names, size_t count,
                       const char *format, unsigned *ret_choice)
{
    struct hs_flamegraph_word word;
    int err = next_word(reader, "a word", &word);
    for (unsigned i = 0; i < count && err == 0; i++) {
        if (hs_flamegraph_word_is(word, names[i])) {
            *ret_choice = i;
            return 0;
        }
    }
    return err ? err : fail(reader, format, word);
}

/* Reads a regular expression and its flags. */
static int next_pattern(struct reader *reader, struct hs_flamegraph_word *ret_pattern,
                        bool *ret_is_caseless)
{
    struct hs_flamegraph_word flags;
    int err = next_word(reader, "a regular expression", ret_pattern);
    err = err ? err : next_word(reader, "'' or 'i'", &flags);
    if (err == 0) {
        *ret_is_caseless = hs_flamegraph_word_is(flags, "i");
        if (flags.bytes > 0 && !*ret_is_caseless) {
            return fail(reader, "flags of a pattern are '' or 'i', not '%.*s'", flags);
        }
    }
    return err;
}

static int read_filter(struct reader *reader, struct hs_flamegraph_config *config)
{
    if (config->filter_count == HS_FLAMEGRAPH_LIST_MAX) {
        return fail(reader, "more than 128 filters%.*s", (struct hs_flamegraph_word){ "", 0 });
    }
    size_t i = config->filter_count++;
    int err = next_choice(reader, filter_names, HS_FLAMEGRAPH_FILTER_N,
                          "a filter is SHOW_STACK, HIDE_STACK or HIDE_FRAME, not '%.*s'",
                          &config->filters[i].kind);
    err = err ? err
              : next_pattern(reader, &config->filters[i].pattern, &config->filters[i].is_caseless);
    if (err == 0 && config->filters[i].kind == HS_FLAMEGRAPH_SHOW_STACK &&
        ++config->show_count > HS_FLAMEGRAPH_SHOW_MAX) {
        return fail(reader, "more than 61 SHOW_STACK filters%.*s",
                    (struct hs_flamegraph_word){ "", 0 });
    }
    return err;
}

static int read_aggregate(struct reader *reader, struct hs_flamegraph_config *config)
{
    if (config->aggregate_count == HS_FLAMEGRAPH_LIST_MAX) {
        return fail(reader, "more than 128 aggregates%.*s", (struct hs_flamegraph_word){ "", 0 });
    }
    size_t i = config->aggregate_count++;
    int err = next_choice(reader, aggregate_names, HS_FLAMEGRAPH_AGGREGATE_N,
                          "an aggregate is SUM, ONE_OR_SUMMARY or CONCAT_WITH_COMMA, not '%.*s'",
                          &config->aggregates[i].kind);
    err = err ? err : next_word(reader, "a column", &config->aggregates[i].in);
    return err ? err : next_word(reader, "a column", &config->aggregates[i].out);
}

static int read_list(struct reader *reader, struct hs_flamegraph_word *list, size_t *count,
                     size_t most)
{
    if (*count == most) {
        return fail(reader, "too many groupings or values%.*s",
                    (struct hs_flamegraph_word){ "", 0 });
    }
    return next_word(reader, "a column", &list[(*count)++]);
}

static int read_entry(struct reader *reader, struct hs_flamegraph_config *config)
{
    struct hs_flamegraph_word key;
    int err = next_word(reader, "a key", &key);
    if (err < 0) {
        return err;
    }
    if (hs_flamegraph_word_is(key, "view")) {
        return next_choice(reader, view_names, HS_FLAMEGRAPH_VIEW_N,
                           "a view is TOP_DOWN, BOTTOM_UP, PIVOT or FROM_FRAME, not '%.*s'",
                           &config->view);
    }
    if (hs_flamegraph_word_is(key, "view_pattern")) {
        config->has_view_pattern = true;
        return next_pattern(reader, &config->view_pattern, &config->is_view_caseless);
    }
    if (hs_flamegraph_word_is(key, "filter")) {
        return read_filter(reader, config);
    }
    if (hs_flamegraph_word_is(key, "aggregate")) {
        return read_aggregate(reader, config);
    }
    if (hs_flamegraph_word_is(key, "grouping")) {
        return read_list(reader, config->groupings, &config->grouping_count,
                         HS_FLAMEGRAPH_LIST_MAX);
    }
    if (hs_flamegraph_word_is(key, "value")) {
        return read_list(reader, config->values, &config->value_count, HS_FLAMEGRAPH_VALUES_MAX);
    }
    return fail(reader,
                "a key is view, view_pattern, filter, grouping, value or aggregate, not '%.*s'",
                key);
}

int hs_flamegraph_config_read(const void *blob, size_t bytes,
                              struct hs_flamegraph_config *ret_config, char *error)
{
    struct reader reader = { blob, bytes, 0, error };
    memset(ret_config, 0, sizeof(*ret_config));
    int err = 0;
    while (err == 0 && reader.off < bytes) {
        err = read_entry(&reader, ret_config);
    }
    bool is_wanted =
        ret_config->view == HS_FLAMEGRAPH_PIVOT || ret_config->view == HS_FLAMEGRAPH_FROM_FRAME;
    if (err == 0 && is_wanted != ret_config->has_view_pattern) {
        snprintf(error, HS_PATTERN_ERROR_BYTES, "%s",
                 is_wanted ? "the views PIVOT and FROM_FRAME need a 'view_pattern'"
                           : "a 'view_pattern' is for the views PIVOT and FROM_FRAME");
        err = -EINVAL;
    }
    return err;
}

static void pack(sqlite3_context *context, int arg_count, sqlite3_value **args)
{
    struct hs_buf blob = { 0 };
    for (int i = 0; i < arg_count; i++) {
        const unsigned char *text = sqlite3_value_text(args[i]);
        uint32_t bytes = text ? (uint32_t)sqlite3_value_bytes(args[i]) : 0;
        hs_buf_add(&blob, &bytes, sizeof(bytes));
        hs_buf_add(&blob, text ? (const char *)text : "", bytes);
    }
    struct hs_flamegraph_config *config = malloc(sizeof(*config));
    char error[HS_PATTERN_ERROR_BYTES] = "no memory";
    if (!config || blob.err) {
        sqlite3_result_error_nomem(context);
    } else if (hs_flamegraph_config_read(blob.data, blob.bytes, config, error) < 0) {
        sqlite3_result_error(context, error, -1);
    } else {
        sqlite3_result_blob64(context, blob.data ? blob.data : "", blob.bytes, SQLITE_TRANSIENT);
    }
    free(config);
    hs_buf_deinit(&blob);
}

int hs_flamegraph_config_register(sqlite3 *db)
{
    return sqlite3_create_function(db, "__intrinsic_flamegraph_config", -1,
                                   SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                   pack, NULL, NULL);
}
