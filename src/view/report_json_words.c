/*
 * The paragraphs of the text report as JSON: the answer, the head, and the warnings with what they
 * touch. The functions that write the text write them, with `words` set. See report_parts.h.
 */
#include <string.h>

#include "profile/model/loss.h"
#include "util/json.h"
#include "view/report_parts.h"

/* What warnings touch. */
static const char *const of_figures[] = {
    "space", "objects",   "alloc_space", "alloc_objects", "peak",
    "leaks", "lifetimes", "threads",     "types",         NULL,
};
static const char *const of_allocated[] = { "alloc_space", "alloc_objects", NULL };
static const char *const of_live[] = { "space", "objects", NULL };
static const char *const of_stacks[] = { "stacks", NULL };
static const char *const of_names[] = { "names", NULL };

void hs_report_words_add(struct hs_report_words *words, const char *text)
{
    struct hs_json *json = words->json;
    if (words->key) {
        hs_json_kv_string(json, words->key, text);
        return;
    }
    if (!words->views) {
        hs_json_string(json, text);
        return;
    }
    /* What makes figures too low is serious; what costs frames is not. */
    const char *const *views = words->is_serious ? of_figures : words->views;
    hs_json_open(json, '{');
    hs_json_kv_string(json, "text", text);
    hs_json_kv_bool(json, "is_serious", words->is_serious);
    hs_json_key(json, "views");
    hs_json_open_inline(json, '[');
    for (; *views; views++) {
        hs_json_string(json, *views);
    }
    hs_json_close(json, ']');
    hs_json_close(json, '}');
}

void hs_report_words_of_loss(struct hs_report_words *words, const char *loss_name)
{
    bool is_of_allocated = strcmp(loss_name, hs_loss_of_load(HS_LOAD_LOSS_NO_ALLOC).name) == 0;
    bool is_of_live = strcmp(loss_name, hs_loss_of_load(HS_LOAD_LOSS_NO_LIVE).name) == 0;
    words->views = is_of_allocated ? of_allocated : is_of_live ? of_live : of_stacks;
}

static void write_warnings(struct hs_report *report)
{
    struct hs_report_words *words = report->words;
    hs_json_key(words->json, "warnings");
    hs_json_open(words->json, '[');
    words->views = of_stacks;
    hs_report_write_missing(report);
    hs_report_write_losses(report);
    words->views = of_names;
    hs_report_write_folded(report);
    hs_report_write_nameless(report);
    words->views = NULL;
    hs_json_close(words->json, ']');
}

void hs_report_json_words(const struct hs_report *report, struct hs_json *json)
{
    struct hs_buf nothing = HS_BUF_INIT; /* what is not a paragraph */
    struct hs_report_words words = { .json = json };
    struct hs_report_options options = *report->options;
    struct hs_report it = *report;
    options.columns = 0;
    options.has_colour = false;
    it.options = &options;
    it.buf = &nothing;
    it.words = &words;
    if (!hs_filter_words_is_any(&options.filters)) {
        words.key = "answer";
        hs_report_write_answer_words(&it);
    }
    words.key = "resident_answer";
    hs_report_write_ledger_words(&it);
    words.key = NULL;
    hs_json_key(json, "head");
    hs_json_open(json, '[');
    hs_report_write_head_words(&it);
    hs_json_close(json, ']');
    write_warnings(&it);
    report->buf->err = report->buf->err ? report->buf->err : nothing.err;
    hs_buf_deinit(&nothing);
}
