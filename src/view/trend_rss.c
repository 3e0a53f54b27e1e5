/*
 * Writes the trend of the resident memory: see trend_view.h.
 *
 *     Trend of resident memory (RSS): prog (pid 4711), 12 readings in 30.0 s
 *       file    prog.pftrace
 *       Resident memory grew by 20.5 KiB a second: ...
 *
 *        a second       95 %     first      last  steps   consists of
 *       +18.8 KiB  ±0.85 KiB  10.0 MiB  10.6 MiB  11 up   memory that malloc keeps free
 *       ...
 *
 * Slopes are by second, minute or hour: see rate_unit.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/describe.h"
#include "rt/base.h"
#include "util/human.h"
#include "util/json.h"
#include "util/rate_unit.h"
#include "util/saturate.h"
#include "util/table.h"
#include "util/utf8.h"
#include "view/diff_view.h"
#include "view/trend_lines.h"
#include "view/trend_view.h"
#include "view/wrapped.h"

#define FORMAT 1

static const struct hs_profile_process *process_of(const struct hs_trend_options *options,
                                                   const struct hs_rss_process *of)
{
    return &options->profile->processes[of->process];
}

static void write_head(const struct hs_rss_trend *trend, const struct hs_trend_options *options,
                       struct hs_buf *buf)
{
    char time[HS_HUMAN_BYTES];
    if (trend->process_count > 1) {
        hs_buf_printf(buf, "Trend of resident memory (PSS): %u processes", trend->process_count);
    } else {
        hs_buf_str(buf, "Trend of resident memory (RSS): ");
        hs_describe_process(options->profile, trend->processes[0].process, buf);
        hs_buf_printf(buf, " (pid %u)", process_of(options, &trend->processes[0])->pid);
    }
    hs_buf_printf(buf, ", %u readings in %s\n  file    ", trend->readings.count,
                  hs_human_duration(time, hs_saturate_round_unsigned(trend->seconds * 1e9)));
    hs_utf8_write(buf, options->name, strlen(options->name));
    hs_buf_char(buf, '\n');
}

void hs_trend_write_rss_verdict(const struct hs_rss_trend *trend,
                                const struct hs_trend_options *options, struct hs_buf *buf)
{
    struct hs_rss_growth growth = hs_rss_trend_growth(trend);
    struct hs_buf text = HS_BUF_INIT;
    hs_rss_trend_write_verdict(trend, &text);
    hs_rss_where_write(&growth, &text);
    hs_wrapped_write(buf, "  ", options->columns, hs_buf_text(&text));
    hs_buf_deinit(&text);
}

/* --- slopes ----------------------------------------------------------------------------------- */

struct named_line {
    const struct hs_trend_line *line;
    const char *words;
};

static int compare_lines(const void *a, const void *b)
{
    const struct named_line *x = a, *y = b;
    double of_x = fabs(x->line->slope), of_y = fabs(y->line->slope);
    return of_x > of_y ? -1 : of_x < of_y ? 1 : strcmp(x->words, y->words);
}

static void add_line(struct hs_table *table, const struct named_line *named,
                     const struct hs_rate_unit *unit)
{
    const struct hs_trend_line *line = named->line;
    struct hs_trend_line rate = hs_trend_by(line, unit);
    char cell[HS_TREND_CELL_BYTES], size[HS_HUMAN_BYTES];
    hs_table_cell(table, "%s", hs_diff_signed(cell, false, rate.slope));
    hs_table_cell(table, "%s", hs_trend_margin(cell, false, &rate));
    hs_table_cell(table, "%s", hs_human_bytes(size, line->first));
    hs_table_cell(table, "%s", hs_human_bytes(size, line->last));
    hs_table_cell(table, "%s", hs_trend_steps(cell, line));
    hs_table_cell(table, "%s",
                  line->verdict == HS_TREND_NOISE ? "no trend"
                                                  : hs_trend_verdict_names[line->verdict]);
    hs_table_cell(table, "%s", named->words);
}

#define SLOPE_COLUMNS 7U

static void init_slopes(struct hs_table *table, struct hs_table_column columns[SLOPE_COLUMNS],
                        const struct hs_rate_unit *unit, const char *last)
{
    const struct hs_table_column all[SLOPE_COLUMNS] = {
        { unit->words, HS_TABLE_RIGHT }, { "95 %", HS_TABLE_RIGHT },  { "first", HS_TABLE_RIGHT },
        { "last", HS_TABLE_RIGHT },      { "steps", HS_TABLE_RIGHT }, { "", HS_TABLE_LEFT },
        { last, HS_TABLE_TEXT },
    };
    memcpy(columns, all, sizeof(all));
    hs_table_init(table, columns, SLOPE_COLUMNS);
}

static void write_lines(const struct hs_rss_trend *trend, const struct hs_trend_options *options,
                        struct hs_buf *buf)
{
    const struct hs_rate_unit *unit = hs_rate_unit_of(trend->seconds);
    struct hs_table_column columns[SLOPE_COLUMNS];
    const struct named_line others[] = {
        { hs_rss_trend_measure(trend), "in all" },
        { &trend->unexplained, "not explained, of all of these" },
        { &trend->swap, "swapped out" },
        { &trend->live, "live blocks of the profile" },
        { &trend->rss, "in all, with shared memory in each process (RSS)" },
    };
    size_t others_count = HS_COUNT_OF(others) - (trend->process_count > 1 ? 0 : 1);
    struct named_line parts[HS_LEDGER_PARTS];
    struct hs_table table;
    for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
        parts[part] = (struct named_line){ &trend->parts[part],
                                           hs_ledger_part_words((enum hs_ledger_part_kind)part) };
    }
    qsort(parts, HS_LEDGER_PARTS, sizeof(parts[0]), compare_lines);
    init_slopes(&table, columns, unit, "consists of");
    for (unsigned i = 0; i < HS_LEDGER_PARTS; i++) {
        if (parts[i].line->first > 0 || parts[i].line->steps_up > 0) {
            add_line(&table, &parts[i], unit);
        }
    }
    for (size_t i = 0; i < others_count; i++) {
        if (others[i].line != &trend->swap || trend->swap.steps_up > 0 || trend->swap.first > 0) {
            add_line(&table, &others[i], unit);
        }
    }
    hs_buf_char(buf, '\n');
    hs_diff_write_table(&table, options->columns, options->has_colour, "4 2", buf);
    hs_table_deinit(&table);
}

/* --- processes -------------------------------------------------------------------------------- */

static int compare_processes(const void *a, const void *b)
{
    const struct hs_rss_process *x = a, *y = b;
    double of_x = fabs(x->pss.slope), of_y = fabs(y->pss.slope);
    return of_x > of_y ? -1 : of_x < of_y ? 1 : x->process < y->process ? -1 : 1;
}

static bool has_trend(const struct hs_rss_process *process)
{
    return process->reading_count >= HS_TREND_DUMPS_MIN;
}

/* A copy of the processes, those whose resident memory changes fastest first; NULL: no memory. */
static struct hs_rss_process *sort_processes(const struct hs_rss_trend *trend)
{
    struct hs_rss_process *sorted = calloc(trend->process_count, sizeof(sorted[0]));
    if (sorted) {
        memcpy(sorted, trend->processes, trend->process_count * sizeof(sorted[0]));
        qsort(sorted, trend->process_count, sizeof(sorted[0]), compare_processes);
    }
    return sorted;
}

static void write_processes(const struct hs_rss_trend *trend,
                            const struct hs_trend_options *options, struct hs_buf *buf)
{
    const struct hs_rate_unit *unit = hs_rate_unit_of(trend->seconds);
    struct hs_table_column columns[SLOPE_COLUMNS];
    struct hs_table table;
    struct hs_rss_process *sorted = sort_processes(trend);
    uint32_t shown = 0, without = 0;
    init_slopes(&table, columns, unit, "process");
    for (uint32_t i = 0; i < trend->process_count && sorted; i++) {
        struct hs_buf name = HS_BUF_INIT;
        without += has_trend(&sorted[i]) ? 0 : 1;
        if (has_trend(&sorted[i]) && shown++ < options->top_count) {
            hs_describe_process(options->profile, sorted[i].process, &name);
            hs_buf_printf(&name, " (%u)", process_of(options, &sorted[i])->pid);
            add_line(&table, &(struct named_line){ &sorted[i].pss, hs_buf_text(&name) }, unit);
        }
        hs_buf_deinit(&name);
    }
    if (shown > 0) {
        hs_buf_printf(buf, "\nProcesses, the fastest change of PSS first%s\n",
                      shown > options->top_count ? "; --top all shows all" : "");
        hs_diff_write_table(&table, options->columns, options->has_colour, "4 2", buf);
    }
    if (without > 0) {
        hs_buf_printf(buf, "  %u %s fewer than %u readings: counted above, without a trend.\n",
                      without, without == 1 ? "process has" : "processes have", HS_TREND_DUMPS_MIN);
    }
    buf->err = sorted ? buf->err : -ENOMEM;
    free(sorted);
    hs_table_deinit(&table);
}

/* --- readings --------------------------------------------------------------------------------- */

static void add_reading(struct hs_table *table, const struct hs_rss_trend *trend, uint32_t k)
{
    const struct hs_rss_reading *reading = &trend->readings.items[k];
    const uint64_t *parts = reading->parts_bytes;
    char text[HS_HUMAN_BYTES];
    uint64_t named_bytes =
        parts[HS_LEDGER_PART_HELD] + parts[HS_LEDGER_PART_FREE] + parts[HS_LEDGER_PART_ANONYMOUS];
    bool is_pss = trend->process_count > 1;
    uint64_t all_bytes = is_pss ? reading->pss_bytes : reading->rss_bytes;
    uint64_t rest_bytes = all_bytes > named_bytes ? all_bytes - named_bytes : 0;
    hs_table_cell(table, "%s",
                  hs_human_duration(text, reading->time_ns - trend->readings.items[0].time_ns));
    hs_table_cell(table, "%s", hs_human_bytes(text, (double)all_bytes));
    hs_table_cell(table, "%s", hs_human_bytes(text, (double)parts[HS_LEDGER_PART_HELD]));
    hs_table_cell(table, "%s", hs_human_bytes(text, (double)parts[HS_LEDGER_PART_FREE]));
    hs_table_cell(table, "%s", hs_human_bytes(text, (double)parts[HS_LEDGER_PART_ANONYMOUS]));
    hs_table_cell(table, "%s", hs_human_bytes(text, (double)rest_bytes));
    hs_table_cell(table, "%s", hs_human_exact(text, reading->arena_count));
    hs_table_cell(table, "%s", hs_human_exact(text, reading->thread_count));
    hs_table_cell(table, "%s", hs_human_bytes(text, reading->live.value));
    if (is_pss) {
        hs_table_cell(table, "%s", hs_human_exact(text, reading->process_count));
    }
}

/* Of many readings, some at equal distances: the first and the last are among them. */
static void write_readings(const struct hs_rss_trend *trend, const struct hs_trend_options *options,
                           struct hs_buf *buf)
{
    bool is_pss = trend->process_count > 1;
    const struct hs_table_column columns[] = {
        { "after", HS_TABLE_RIGHT },        { is_pss ? "PSS" : "RSS", HS_TABLE_RIGHT },
        { "malloc: held", HS_TABLE_RIGHT }, { "free", HS_TABLE_RIGHT },
        { "anonymous", HS_TABLE_RIGHT },    { "rest", HS_TABLE_RIGHT },
        { "arenas", HS_TABLE_RIGHT },       { "threads", HS_TABLE_RIGHT },
        { "live blocks", HS_TABLE_RIGHT },  { "processes", HS_TABLE_RIGHT },
    };
    size_t column_count = HS_COUNT_OF(columns) - (is_pss ? 0 : 1);
    uint32_t count = trend->readings.count, shown = options->top_count;
    struct hs_table table;
    shown = shown < HS_TREND_DUMPS_MIN ? HS_TREND_DUMPS_MIN : shown;
    shown = shown < count ? shown : count;
    hs_table_init(&table, columns, column_count);
    for (uint32_t i = 0; i < shown; i++) {
        add_reading(&table, trend, (uint32_t)((uint64_t)i * (count - 1) / (shown - 1)));
    }
    hs_buf_printf(buf, "\nReadings, by the time since the first%s\n",
                  shown < count ? "; --top all shows all" : "");
    hs_diff_write_table(&table, options->columns, options->has_colour, "7 6 5 8", buf);
    hs_table_deinit(&table);
}

int hs_trend_write_rss(const struct hs_rss_trend *trend, const struct hs_trend_options *options,
                       struct hs_buf *buf)
{
    write_head(trend, options, buf);
    hs_trend_write_rss_verdict(trend, options, buf);
    write_lines(trend, options, buf);
    if (trend->process_count > 1) {
        write_processes(trend, options, buf);
    }
    write_readings(trend, options, buf);
    return buf->err;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_json_line(struct hs_json *json, const char *key, const struct hs_trend_line *line)
{
    hs_json_key(json, key);
    hs_json_open_inline(json, '{');
    hs_trend_json_line(line, json);
    hs_json_close(json, '}');
}

static void write_json_readings(const struct hs_rss_trend *trend, struct hs_json *json)
{
    hs_json_key(json, "readings");
    hs_json_open(json, '[');
    for (uint32_t k = 0; k < trend->readings.count; k++) {
        const struct hs_rss_reading *reading = &trend->readings.items[k];
        hs_json_open_inline(json, '{');
        hs_json_kv_double(json, "seconds",
                          (double)(reading->time_ns - trend->readings.items[0].time_ns) / 1e9);
        hs_json_kv_uint(json, "processes", reading->process_count);
        hs_json_kv_uint(json, "rss_bytes", reading->rss_bytes);
        hs_json_kv_uint(json, "pss_bytes", reading->pss_bytes);
        hs_json_kv_uint(json, "swap_bytes", reading->swap_bytes);
        hs_json_kv_uint(json, "unexplained_bytes", reading->unexplained_bytes);
        hs_json_kv_double(json, "live_bytes", reading->live.value);
        hs_json_kv_uint(json, "arenas", reading->arena_count);
        hs_json_kv_uint(json, "threads", reading->thread_count);
        for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
            hs_json_kv_uint(json, hs_ledger_part_key((enum hs_ledger_part_kind)part),
                            reading->parts_bytes[part]);
        }
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}

void hs_trend_json_resident(const struct hs_rss_trend *trend, struct hs_json *json)
{
    struct hs_rss_growth growth = hs_rss_trend_growth(trend);
    struct hs_buf text = HS_BUF_INIT;
    hs_rss_trend_write_verdict(trend, &text);
    hs_json_key(json, "resident");
    hs_json_open(json, '{');
    hs_json_kv_double(json, "seconds", trend->seconds);
    hs_json_kv_string(json, "cause", hs_rss_cause_key(hs_rss_cause_of(&growth)));
    hs_json_kv_string(json, "verdict", hs_buf_text(&text));
    hs_json_kv_uint(json, "trim_bytes", growth.trim_bytes);
    hs_json_kv_string(json, "measure", trend->process_count > 1 ? "pss" : "rss");
    write_json_line(json, "rss", &trend->rss);
    write_json_line(json, "pss", &trend->pss);
    write_json_line(json, "unexplained", &trend->unexplained);
    write_json_line(json, "swap", &trend->swap);
    write_json_line(json, "live", &trend->live);
    hs_json_key(json, "parts");
    hs_json_open(json, '[');
    for (unsigned part = 0; part < HS_LEDGER_PARTS; part++) {
        hs_json_open_inline(json, '{');
        hs_json_kv_string(json, "part", hs_ledger_part_key((enum hs_ledger_part_kind)part));
        hs_json_kv_string(json, "name", hs_ledger_part_words((enum hs_ledger_part_kind)part));
        hs_trend_json_line(&trend->parts[part], json);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
    write_json_readings(trend, json);
    hs_json_close(json, '}');
    hs_buf_deinit(&text);
}

static void write_json_process(const struct hs_rss_process *process, bool is_one,
                               const struct hs_trend_options *options, struct hs_json *json)
{
    struct hs_buf name = HS_BUF_INIT;
    hs_describe_process(options->profile, process->process, &name);
    hs_json_kv_uint(json, "pid", process_of(options, process)->pid);
    hs_json_kv_string(json, "name", hs_buf_text(&name));
    if (!is_one) {
        hs_json_kv_uint(json, "readings", process->reading_count);
    }
    if (!is_one && has_trend(process)) {
        hs_trend_json_line(&process->pss, json);
    }
    hs_buf_deinit(&name);
}

static void write_json_processes(const struct hs_rss_trend *trend,
                                 const struct hs_trend_options *options, struct hs_json *json)
{
    hs_json_key(json, "processes");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < trend->process_count; i++) {
        hs_json_open_inline(json, '{');
        write_json_process(&trend->processes[i], false, options, json);
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}

int hs_trend_write_rss_json(const struct hs_rss_trend *trend,
                            const struct hs_trend_options *options, struct hs_buf *buf)
{
    struct hs_json json;
    hs_json_init(&json, buf, 1);
    hs_json_open(&json, '{');
    hs_json_kv_uint(&json, "format", FORMAT);
    hs_json_kv_string(&json, "file", options->name);
    if (trend->process_count > 1) {
        write_json_processes(trend, options, &json);
    } else {
        write_json_process(&trend->processes[0], true, options, &json);
    }
    hs_trend_json_resident(trend, &json);
    hs_json_close(&json, '}');
    hs_buf_char(buf, '\n');
    return buf->err;
}
