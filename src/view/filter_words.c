/*
 * See filter_words.h.
 */
#include "view/filter_words.h"

#include <string.h>

#include "util/json.h"
#include "util/utf8.h"

bool hs_filter_words_is_any(const struct hs_filter_texts *texts)
{
    return texts->focus_count + texts->from_count + texts->hide_count > 0;
}

/* Writes patterns, behind `lead` and with `between` from the second on. */
static void write_patterns(struct hs_buf *buf, const char *lead, const char *between,
                           const char *const *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hs_buf_printf(buf, "%s\"", i > 0 ? between : lead);
        hs_utf8_write(buf, patterns[i], strlen(patterns[i]));
        hs_buf_char(buf, '"');
    }
}

void hs_filter_words_write(const struct hs_filter_texts *texts, struct hs_buf *buf)
{
    write_patterns(buf, "stacks with a function that matches ", ", and one that matches ",
                   texts->focus, texts->focus_count);
    hs_buf_str(buf, texts->focus_count > 0 && texts->from_count > 0 ? "; " : "");
    write_patterns(buf, "stacks from a function on that matches ", " or ", texts->from,
                   texts->from_count);
    hs_buf_str(buf,
               texts->focus_count + texts->from_count > 0 && texts->hide_count > 0 ? "; " : "");
    write_patterns(buf, "without functions that match ", " or ", texts->hide, texts->hide_count);
}

void hs_filter_words_line(const struct hs_filter_texts *texts, struct hs_buf *buf)
{
    if (hs_filter_words_is_any(texts)) {
        hs_buf_str(buf, "  below   ");
        hs_filter_words_write(texts, buf);
        hs_buf_str(buf, "; the totals above are of all stacks\n");
    }
}

static void json_patterns(struct hs_json *json, const char *key, const char *const *patterns,
                          size_t count)
{
    hs_json_key(json, key);
    hs_json_open(json, '[');
    for (size_t i = 0; i < count; i++) {
        hs_json_string(json, patterns[i]);
    }
    hs_json_close(json, ']');
}

void hs_filter_words_json(const struct hs_filter_texts *texts, struct hs_json *json)
{
    json_patterns(json, "patterns", texts->focus, texts->focus_count);
    if (texts->from_count > 0) {
        json_patterns(json, "from", texts->from, texts->from_count);
    }
    if (texts->hide_count > 0) {
        json_patterns(json, "hide", texts->hide, texts->hide_count);
    }
}
