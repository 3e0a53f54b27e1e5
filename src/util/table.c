/*
 * See table.h.
 */
#include "util/table.h"

#include <stdarg.h>
#include <string.h>

#include "rt/check.h"
#include "util/cxx_name.h"
#include "util/utf8.h"

#define GAP_COLUMNS      3
#define NAME_MIN         16
#define NOTE_ROOM_MIN    40
#define NOTE_GAP         "  "
#define NOTE_GAP_COLUMNS 2

void hs_table_init(struct hs_table *table, const struct hs_table_column *columns,
                   size_t column_count)
{
    *table = (struct hs_table){ .columns = columns, .column_count = column_count };
}

void hs_table_deinit(struct hs_table *table)
{
    hs_buf_deinit(&table->text);
    hs_buf_deinit(&table->cells);
}

void hs_table_cell(struct hs_table *table, const char *format, ...)
{
    size_t off = table->text.bytes;
    hs_buf_add(&table->cells, &off, sizeof(off));
    va_list args;
    va_start(args, format);
    hs_buf_vprintf(&table->text, format, args);
    va_end(args);
    hs_buf_char(&table->text, '\0');
}

static const char *cell(const struct hs_table *table, size_t idx)
{
    size_t off;
    memcpy(&off, table->cells.data + idx * sizeof(off), sizeof(off));
    return table->text.data + off;
}

static size_t columns_of(const char *text)
{
    return hs_utf8_columns(text, strlen(text));
}

void hs_text_style(struct hs_buf *buf, bool has_colour, enum hs_text_style style)
{
    static const char *const codes[] = {
        [HS_TEXT_PLAIN] = "\x1b[0m",
        [HS_TEXT_BOLD] = "\x1b[1m",
        [HS_TEXT_DIM] = "\x1b[2m",
        [HS_TEXT_WARN] = "\x1b[33m",
    };
    if (has_colour) {
        hs_buf_str(buf, codes[style]);
    }
}

void hs_text_pad(struct hs_buf *buf, const char *text, size_t columns, bool is_right)
{
    size_t used = columns_of(text);
    size_t blanks = used < columns ? columns - used : 0;
    if (is_right) {
        hs_buf_repeat(buf, ' ', blanks);
    }
    hs_utf8_write(buf, text, strlen(text));
    if (!is_right) {
        hs_buf_repeat(buf, ' ', blanks);
    }
}

/* Measures the widest cell of each column except names and notes; 0: all its cells are empty. */
static void measure(const struct hs_table *table, size_t row_count, bool has_titles,
                    size_t *ret_widths)
{
    for (size_t c = 0; c < table->column_count; c++) {
        size_t width = 0;
        for (size_t r = 0; r < row_count; r++) {
            size_t w = columns_of(cell(table, r * table->column_count + c));
            width = w > width ? w : width;
        }
        size_t title = columns_of(table->columns[c].title);
        ret_widths[c] = width > 0 && has_titles && title > width ? title : width;
    }
}

static bool is_name(const struct hs_table *table, size_t column)
{
    return table->columns[column].align == HS_TABLE_NAME ||
           table->columns[column].align == HS_TABLE_TEXT;
}

/* How many columns of the terminal a line needs when its name is shortened as far as we allow. */
static size_t needed(const struct hs_table *table, const size_t *widths, size_t indent)
{
    size_t sum = indent;
    for (size_t c = 0; c < table->column_count; c++) {
        if (widths[c] > 0 && table->columns[c].align != HS_TABLE_NOTE) {
            size_t least = is_name(table, c) && widths[c] > NAME_MIN ? NAME_MIN : widths[c];
            sum += (sum > indent ? GAP_COLUMNS : 0) + least;
        }
    }
    return sum;
}

static void leave_out(const struct hs_table *table, const struct hs_table_style *style,
                      size_t *widths)
{
    const char *at = style->give_way ? style->give_way : "";
    while (*at && style->columns > 0 && needed(table, widths, style->indent) > style->columns) {
        for (at += strspn(at, " "); *at >= '0' && *at <= '9'; at++) {
            widths[*at - '0'] = 0;
        }
    }
}

struct line {
    struct hs_buf *out;
    const struct hs_table_style *style;
    size_t used_columns; /* of the terminal */
    size_t blanks;       /* pending: written only when something follows */
};

static void owe(struct line *line, size_t blanks)
{
    line->blanks += blanks;
    line->used_columns += blanks;
}

static void pay(struct line *line)
{
    hs_buf_repeat(line->out, ' ', line->blanks);
    line->blanks = 0;
}

static size_t room(const struct line *line, size_t reserved)
{
    if (line->style->columns == 0) {
        return SIZE_MAX;
    }
    size_t taken = line->used_columns + reserved;
    size_t left = line->style->columns > taken ? line->style->columns - taken : 0;
    return left > NAME_MIN ? left : NAME_MIN;
}

static void write_name(struct line *line, const char *name, const char *note, bool is_function)
{
    size_t note_columns = *note ? columns_of(note) + NOTE_GAP_COLUMNS : 0;
    size_t name_columns = columns_of(name);
    bool is_unlimited = line->style->columns == 0;
    /* Omit the note if it would leave too little room for the name. */
    bool is_tight = line->used_columns + name_columns + note_columns > line->style->columns;
    if (!is_unlimited && is_tight && room(line, note_columns) < NOTE_ROOM_MIN) {
        note_columns = 0;
    }
    size_t columns = room(line, note_columns);
    if (is_function) {
        hs_cxx_write_fit(line->out, name, columns);
    } else if (name_columns <= columns) {
        hs_utf8_write(line->out, name, strlen(name));
    } else {
        hs_utf8_write(line->out, name, hs_utf8_fit(name, strlen(name), columns - 1));
        hs_buf_str(line->out, "…");
    }
    if (note_columns > 0) {
        hs_buf_str(line->out, NOTE_GAP);
        hs_text_style(line->out, line->style->has_colour, HS_TEXT_DIM);
        hs_utf8_write(line->out, note, strlen(note));
        hs_text_style(line->out, line->style->has_colour, HS_TEXT_PLAIN);
    }
}

static void write_row(const struct hs_table *table, const char *const *texts, const size_t *widths,
                      struct line *line)
{
    bool is_first = true;
    owe(line, line->style->indent);
    for (size_t c = 0; c < table->column_count; c++) {
        const struct hs_table_column *column = &table->columns[c];
        if (widths[c] == 0 || column->align == HS_TABLE_NOTE) {
            continue;
        }
        if (!is_first) {
            owe(line, GAP_COLUMNS);
        }
        is_first = false;
        if (is_name(table, c)) {
            bool has_note = c + 1 < table->column_count;
            pay(line);
            write_name(line, texts[c], has_note ? texts[c + 1] : "",
                       column->align == HS_TABLE_NAME);
            continue;
        }
        size_t used = columns_of(texts[c]);
        size_t blanks = widths[c] - (used < widths[c] ? used : widths[c]);
        if (column->align == HS_TABLE_RIGHT) {
            owe(line, blanks);
        }
        if (used > 0) {
            pay(line);
            hs_utf8_write(line->out, texts[c], strlen(texts[c]));
            line->used_columns += used;
        }
        if (column->align == HS_TABLE_LEFT) {
            owe(line, blanks);
        }
    }
    hs_buf_char(line->out, '\n');
}

void hs_table_write(struct hs_table *table, struct hs_buf *out, const struct hs_table_style *style)
{
    if (table->text.err || table->cells.err) {
        out->err = out->err ? out->err : table->text.err ? table->text.err : table->cells.err;
        return;
    }
    size_t row_count = table->cells.bytes / sizeof(size_t) / table->column_count;
    HS_ASSERT(row_count * table->column_count * sizeof(size_t) == table->cells.bytes);
    size_t widths[HS_TABLE_COLUMNS_MAX];
    const char *texts[HS_TABLE_COLUMNS_MAX];
    measure(table, row_count, style->has_titles, widths);
    leave_out(table, style, widths);
    if (style->has_titles && row_count > 0) {
        for (size_t c = 0; c < table->column_count; c++) {
            texts[c] = table->columns[c].title;
        }
        hs_text_style(out, style->has_colour, HS_TEXT_DIM);
        /*
         * The style ends before the line does: otherwise a pager would continue it on the next
         * line.
         */
        struct hs_buf titles = HS_BUF_INIT;
        write_row(table, texts, widths,
                  &(struct line){ .out = &titles,
                                  .style = &(struct hs_table_style){ .indent = style->indent } });
        hs_buf_add(out, titles.data, titles.bytes > 0 ? titles.bytes - 1 : 0);
        hs_buf_deinit(&titles);
        hs_text_style(out, style->has_colour, HS_TEXT_PLAIN);
        hs_buf_char(out, '\n');
    }
    for (size_t r = 0; r < row_count; r++) {
        for (size_t c = 0; c < table->column_count; c++) {
            texts[c] = cell(table, r * table->column_count + c);
        }
        write_row(table, texts, widths, &(struct line){ .out = out, .style = style });
    }
}
