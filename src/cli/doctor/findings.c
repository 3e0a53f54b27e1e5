/*
 * Collecting and printing findings: see findings.h.
 */
#include "cli/doctor/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/table.h"
#include "util/utf8.h"

#define GAP_COLUMNS   2U
#define MARK_COLUMNS  7U  /* "problem" */
#define WORDS_MIN     20U /* columns for the text, even on a narrow terminal */
#define REMEDY_PREFIX "remedy: "

static const struct {
    const char *mark;
    enum hs_text_style style;
} states[HS_FINDING_STATE_N] = {
    [HS_FINDING_OK] = { "ok", HS_TEXT_DIM },
    [HS_FINDING_NOTE] = { "note", HS_TEXT_BOLD },
    [HS_FINDING_PROBLEM] = { "problem", HS_TEXT_WARN },
};

void hs_findings_add(struct hs_findings *findings, enum hs_finding_state state, const char *check,
                     const char *remedy, const char *format, ...)
{
    struct hs_finding finding = { .state = state, .check = check };
    if (findings->err) {
        return;
    }
    findings->err = hs_array_reserve(&findings->items, &findings->capacity, findings->count + 1,
                                     sizeof(*findings->items));
    if (findings->err) {
        return;
    }
    va_list args;
    va_start(args, format);
    int len = vasprintf(&finding.detail, format, args);
    va_end(args);
    bool has_remedy = remedy && *remedy;
    finding.remedy = has_remedy ? strdup(remedy) : NULL;
    finding.detail = len < 0 ? NULL : finding.detail;
    if (!finding.detail || (has_remedy && !finding.remedy)) {
        free(finding.detail);
        free(finding.remedy);
        findings->err = -ENOMEM;
        return;
    }
    findings->items[findings->count++] = finding;
}

size_t hs_findings_count(const struct hs_findings *findings, enum hs_finding_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++) {
        count += findings->items[i].state == state;
    }
    return count;
}

/* Writes the text from column `left` on, broken at blanks. */
static void write_words(struct hs_buf *out, const char *text, size_t left, unsigned columns)
{
    size_t room = columns > left + WORDS_MIN ? columns - left : WORDS_MIN;
    size_t used = 0;
    for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
        size_t bytes = strcspn(word, " ");
        size_t wide = hs_utf8_columns(word, bytes);
        if (used > 0 && columns > 0 && used + 1 + wide > room) {
            hs_buf_char(out, '\n');
            hs_buf_repeat(out, ' ', left);
            used = 0;
        } else if (used > 0) {
            hs_buf_char(out, ' ');
            used++;
        }
        hs_utf8_write(out, word, bytes);
        used += wide;
        word += bytes;
    }
    hs_buf_char(out, '\n');
}

void hs_findings_write_text(const struct hs_findings *findings, unsigned columns, bool has_colour,
                            struct hs_buf *out)
{
    size_t check_columns = 0;
    for (size_t i = 0; i < findings->count; i++) {
        size_t n = strlen(findings->items[i].check);
        check_columns = n > check_columns ? n : check_columns;
    }
    size_t left = MARK_COLUMNS + GAP_COLUMNS + check_columns + GAP_COLUMNS;
    for (size_t i = 0; i < findings->count; i++) {
        const struct hs_finding *finding = &findings->items[i];
        hs_text_style(out, has_colour, states[finding->state].style);
        hs_text_pad(out, states[finding->state].mark, MARK_COLUMNS, false);
        hs_text_style(out, has_colour, HS_TEXT_PLAIN);
        hs_buf_repeat(out, ' ', GAP_COLUMNS);
        hs_text_pad(out, finding->check, check_columns, false);
        hs_buf_repeat(out, ' ', GAP_COLUMNS);
        write_words(out, finding->detail, left, columns);
        if (finding->remedy) {
            hs_buf_repeat(out, ' ', left);
            hs_buf_str(out, REMEDY_PREFIX);
            write_words(out, finding->remedy, left + strlen(REMEDY_PREFIX), columns);
        }
    }
}

void hs_findings_write_json(const struct hs_findings *findings, struct hs_buf *out)
{
    struct hs_json json;
    hs_json_init(&json, out, 2);
    hs_json_open(&json, '[');
    for (size_t i = 0; i < findings->count; i++) {
        const struct hs_finding *finding = &findings->items[i];
        hs_json_open(&json, '{');
        hs_json_kv_string(&json, "check", finding->check);
        hs_json_kv_string(&json, "state", states[finding->state].mark);
        hs_json_kv_string(&json, "detail", finding->detail);
        hs_json_key(&json, "remedy");
        if (finding->remedy) {
            hs_json_string(&json, finding->remedy);
        } else {
            hs_json_null(&json);
        }
        hs_json_close(&json, '}');
    }
    hs_json_close(&json, ']');
}

void hs_findings_deinit(struct hs_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].detail);
        free(findings->items[i].remedy);
    }
    free(findings->items);
    *findings = (struct hs_findings){ 0 };
}
