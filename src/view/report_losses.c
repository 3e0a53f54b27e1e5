/*
 * Says what is missing from a profile: serious losses in every report, all counters with --health.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/describe.h"
#include "profile/model/loss.h"
#include "rt/base.h"
#include "view/report_parts.h"

/* Width that the table of all counters needs. */
#define HEALTH_COLUMNS    140
#define LOSS_NOT_RECORDED "What was lost while this file was made is not recorded in it."
#define KNOWN_MAX         (HS_LOSS_N + HS_STACK_END_N + HS_LOAD_LOSS_N + HS_REFUSAL_N + 3)
/* Of the modules in which stacks end. */
#define CUT_MODULES_SHOWN 3

static void add_loss(struct hs_profile_loss *sum, const struct hs_profile_loss *more)
{
    bool is_known = (sum->count == 0 || sum->alloc_count > 0) && more->alloc_count > 0;
    sum->count += more->count;
    sum->bytes = is_known ? sum->bytes + more->bytes : 0;
    sum->alloc_count = is_known ? sum->alloc_count + more->alloc_count : 0;
}

/* Sums each kind of loss over all selected processes. */
static struct hs_profile_loss *add_up(const struct hs_report *report, size_t *ret_count)
{
    const struct hs_profile *p = report->profile;
    struct hs_profile_loss *sums = calloc(p->loss_count + 1u, sizeof(*sums));
    size_t count = 0;
    for (uint32_t i = 0; sums && i < p->loss_count; i++) {
        const struct hs_profile_loss *loss = &p->losses[i];
        if (loss->count == 0 || !hs_selection_has_loss(&report->selection, loss)) {
            continue;
        }
        size_t at = 0;
        while (at < count && (sums[at].name != loss->name || sums[at].text != loss->text)) {
            at++;
        }
        if (at == count) {
            sums[count] = *loss;
            sums[count].count = 0;
            sums[count].bytes = sums[count].alloc_count = 0;
            count++;
        }
        add_loss(&sums[at], loss);
    }
    *ret_count = count;
    return sums;
}

static const char *description_of(const struct hs_profile *p, const struct hs_profile_loss *loss)
{
    const char *text = hs_profile_string(p, loss->text);
    return text[0] ? text : hs_profile_string(p, loss->name);
}

void hs_report_warn(struct hs_report *report, const char *text, uint64_t count)
{
    char number[HS_HUMAN_BYTES];
    struct hs_buf line = HS_BUF_INIT;
    hs_buf_printf(&line, "%s%s", report->words ? "" : "! ", text);
    if (count > 0) {
        hs_buf_printf(&line, ": %s", hs_human_exact(number, count));
    }
    if (report->words) {
        report->words->is_serious = true;
    }
    hs_text_style(report->buf, report->options->has_colour, HS_TEXT_WARN);
    hs_report_write_wrapped(report, "  ", hs_buf_text(&line));
    hs_text_style(report->buf, report->options->has_colour, HS_TEXT_PLAIN);
    hs_buf_deinit(&line);
    if (report->words) {
        report->words->is_serious = false;
    }
}

char *hs_report_margin(const struct hs_report *report, char *out, bool is_count,
                       const struct hs_figure *figure)
{
    out[0] = '\0';
    return report->selection.is_lossy ? out : hs_format_margin(out, is_count, figure);
}

/* Did the process execute a program that is not in the file? */
static bool has_unseen_program(const struct hs_profile *p, uint32_t process)
{
    const struct hs_profile_process *it = &p->processes[process];
    if (!hs_describe_has_executed(it)) {
        return false;
    }
    for (uint32_t i = 0; i < p->process_count; i++) {
        const struct hs_profile_process *other = &p->processes[i];
        if (i != process && other->pid == it->pid && other->start_ns > it->start_ns) {
            return false;
        }
    }
    return true;
}

bool hs_report_is_incomplete(const struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    const struct hs_selection *s = &report->selection;
    if (s->is_lossy) {
        return true;
    }
    for (uint32_t i = 0; i < s->dump_count; i++) {
        uint32_t process = p->dumps[s->dumps[i]].process;
        if (p->processes[process].has_own_malloc || has_unseen_program(p, process)) {
            return true;
        }
    }
    return false;
}

bool hs_report_is_from_start(const struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    const struct hs_selection *s = &report->selection;
    for (uint32_t i = 0; i < s->dump_count; i++) {
        if (!p->processes[p->dumps[s->dumps[i]].process].is_from_startup) {
            return false;
        }
    }
    return true;
}

static void warn_own_malloc(struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    for (uint32_t i = 0; i < report->selection.dump_count; i++) {
        const struct hs_profile_process *process =
            &p->processes[p->dumps[report->selection.dumps[i]].process];
        if (process->has_own_malloc) {
            struct hs_buf text = HS_BUF_INIT;
            hs_buf_printf(
                &text,
                "%s (pid %u) contains its own malloc, whose allocations could not be recorded",
                hs_profile_string(p, process->name), process->pid);
            hs_report_warn(report, hs_buf_text(&text), 0);
            hs_buf_deinit(&text);
        }
    }
}

static void warn_unseen_programs(struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    const struct hs_profile_process *first = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->selection.dump_count; i++) {
        uint32_t process = p->dumps[report->selection.dumps[i]].process;
        if (has_unseen_program(p, process)) {
            first = first ? first : &p->processes[process];
            count++;
        }
    }
    if (first) {
        struct hs_buf text = HS_BUF_INIT;
        hs_buf_printf(&text, "%s (pid %u)", hs_profile_string(p, first->name), first->pid);
        if (count > 1) {
            hs_buf_printf(&text, " and %u more process%s", count - 1, count > 2 ? "es" : "");
        }
        hs_buf_str(&text, " executed another program, of which nothing is in this file: it "
                          "allocated nothing, or is a statically linked, 32-bit, musl or "
                          "set-user-id program, or had no LD_PRELOAD in its environment");
        hs_report_warn(report, hs_buf_text(&text), 0);
        hs_buf_deinit(&text);
    }
}

static bool is_larger(const struct hs_profile_loss *a, const struct hs_profile_loss *b)
{
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->count > b->count;
}

/* Losses that cost frames but no data: describes the most frequent one, and counts the rest. */
static void write_small_losses(struct hs_report *report, const struct hs_profile_loss *sums,
                               size_t count)
{
    const struct hs_profile_loss *most = NULL;
    size_t kinds = 0;
    for (size_t i = 0; i < count; i++) {
        if (!sums[i].is_serious && sums[i].count > 0) {
            kinds++;
            most = !most || is_larger(&sums[i], most) ? &sums[i] : most;
        }
    }
    if (!most) {
        return;
    }
    struct hs_buf line = HS_BUF_INIT;
    hs_loss_describe(report->profile, most, &report->selection.alloc, &line);
    if (kinds > 1 && !report->words) {
        hs_buf_printf(&line, "; --health shows %zu more reason%s for missing frames", kinds - 1,
                      kinds == 2 ? "" : "s");
    }
    hs_text_style(report->buf, report->options->has_colour, HS_TEXT_DIM);
    const char *const *views = report->words ? report->words->views : NULL;
    if (report->words) {
        hs_report_words_of_loss(report->words, hs_profile_string(report->profile, most->name));
    }
    hs_report_write_wrapped(report, "  ", hs_buf_text(&line));
    if (report->words) {
        report->words->views = views;
    }
    hs_text_style(report->buf, report->options->has_colour, HS_TEXT_PLAIN);
    hs_buf_deinit(&line);
}

/* Is the loss that of a process that was refused and is listed separately? */
static bool is_refusal(const struct hs_profile *p, const struct hs_profile_loss *loss)
{
    return loss->process < p->process_count && p->processes[loss->process].refusal != 0;
}

void hs_report_write_losses(struct hs_report *report)
{
    size_t count;
    struct hs_profile_loss *sums = add_up(report, &count);
    warn_own_malloc(report);
    warn_unseen_programs(report);
    hs_report_warn_unregistered(report);
    bool is_refused_told = hs_report_write_refused(report);
    for (size_t i = 0; sums && i < count; i++) {
        bool is_told = is_refused_told && is_refusal(report->profile, &sums[i]);
        if (sums[i].count > 0 && sums[i].is_serious && !is_told) {
            struct hs_buf text = HS_BUF_INIT;
            hs_report_describe_loss(report, &sums[i], &text);
            hs_report_warn(report, hs_buf_text(&text), 0);
            hs_buf_deinit(&text);
        }
    }
    if (sums) {
        write_small_losses(report, sums, count);
    }
    free(sums);
    hs_report_write_cut_modules(report, CUT_MODULES_SHOWN);
}

/* What it cost, as far as the file tells. */
static void write_cost(const struct hs_report *report, struct hs_table *table)
{
    const struct hs_profile *p = report->profile;
    char number[HS_HUMAN_BYTES];
    uint64_t client_ns = 0;
    for (uint32_t i = 0; i < report->selection.dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[report->selection.dumps[i]];
        client_ns += dump->client_cpu_ns;
    }
    if (client_ns > 0) {
        hs_human_duration(number, client_ns);
        hs_table_cell(table, "≈ %s", number);
        hs_table_cell(table, "of CPU time for recording in the process%s",
                      report->selection.dump_count > 1 ? "es in which enough samples were timed"
                                                       : "");
    }
    if (p->has_cost) {
        hs_human_duration(number, p->cost.recording_cpu_ns);
        hs_table_cell(table, "%s", number);
        hs_table_cell(table, "of CPU time for snapshots, and for looking at the processes");
        hs_human_duration(number, p->cost.names_cpu_ns);
        hs_table_cell(table, "%s", number);
        hs_table_cell(table, "of CPU time for the names of functions at the end");
    }
    if (p->has_cost && p->cost.collector_rss_peak_bytes != 0) {
        hs_table_cell(table, "%s",
                      hs_human_bytes(number, (double)p->cost.collector_rss_peak_bytes));
        hs_table_cell(table, "of resident memory at most in the process that recorded");
    }
}

/* Writes what the recorder did, summed over the processes. */
static void write_work(struct hs_report *report)
{
    static const struct hs_table_column columns[] = {
        { "", HS_TABLE_RIGHT },
        { "", HS_TABLE_TEXT },
    };
    const struct hs_profile *p = report->profile;
    uint64_t freed = 0;
    uint64_t replayed = 0;
    uint64_t walked = 0;
    uint64_t region_bytes = 0;
    for (uint32_t i = 0; i < report->selection.dump_count; i++) {
        const struct hs_profile_dump *dump = &p->dumps[report->selection.dumps[i]];
        freed += dump->free_count;
        replayed += dump->replay_count;
        walked += dump->walk_count;
        region_bytes += dump->region_bytes;
    }
    struct hs_table table;
    char number[HS_HUMAN_BYTES];
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    hs_table_cell(&table, "%s", hs_human_exact(number, report->selection.sample_count));
    hs_table_cell(&table, "allocations recorded");
    hs_table_cell(&table, "%s", hs_human_exact(number, freed));
    hs_table_cell(&table, "of these freed later");
    hs_table_cell(&table, "%s", hs_human_exact(number, walked));
    hs_table_cell(&table, "stacks walked frame by frame");
    hs_table_cell(&table, "%s", hs_human_exact(number, replayed));
    hs_table_cell(&table, "stacks recognized without a walk");
    hs_table_cell(&table, "%s", hs_human_bytes(number, (double)region_bytes));
    hs_table_cell(&table, "of shared memory with heapscope's tables in the process%s",
                  report->selection.dump_count > 1 ? "es" : "");
    write_cost(report, &table);
    hs_report_heading(report, "What the recording did", "");
    hs_table_write(&table, report->buf,
                   &(struct hs_table_style){ .indent = 2, .columns = report->options->columns });
    hs_table_deinit(&table);
}

/*
 * Writes one row of the list, if its value is zero or not as requested. On a narrow terminal, where
 * there is no table, it writes a paragraph.
 */
static void add_counter(struct hs_report *report, struct hs_table *table, bool is_zero_wanted,
                        const struct hs_loss_text *text, const struct hs_profile_loss *sums,
                        size_t count)
{
    char number[HS_HUMAN_BYTES];
    struct hs_buf meaning = HS_BUF_INIT;
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = hs_profile_string(report->profile, sums[i].name);
        if (strcmp(name, text->name) == 0 && sums[i].count > 0) {
            hs_buf_str(&meaning, total > 0 ? "; " : "");
            total += sums[i].count;
            if (sums[i].is_serious) {
                hs_report_describe_loss(report, &sums[i], &meaning);
            } else {
                hs_loss_describe(report->profile, &sums[i], &report->selection.alloc, &meaning);
            }
        }
    }
    if ((total == 0) != is_zero_wanted) {
        hs_buf_deinit(&meaning);
        return;
    }
    if (total == 0) {
        hs_buf_str(&meaning, text->text);
    }
    hs_human_exact(number, total);
    const char *mark = text->is_serious && total > 0 ? "!" : "";
    if (!table) {
        struct hs_buf head = HS_BUF_INIT;
        hs_buf_printf(&head, "%s %s%s%s", number, text->name, mark[0] ? " " : "", mark);
        hs_report_write_wrapped(report, "  ", hs_buf_text(&head));
        hs_report_write_wrapped(report, "      ", hs_buf_text(&meaning));
        hs_buf_deinit(&head);
    } else {
        hs_table_cell(table, "%s", number);
        hs_table_cell(table, "%s", text->name);
        hs_table_cell(table, "%s", mark);
        hs_table_cell(table, "%s", hs_buf_text(&meaning));
    }
    hs_buf_deinit(&meaning);
}

static bool is_known(const char *name, const struct hs_loss_text *known, size_t known_count)
{
    for (size_t i = 0; i < known_count; i++) {
        if (strcmp(known[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Fills `known` with all counters that this version knows; returns their number. */
static size_t list_known(struct hs_loss_text known[KNOWN_MAX])
{
    size_t known_count = 0;
    for (uint32_t i = 0; i < HS_LOSS_N; i++) {
        known[known_count++] = hs_loss_of_client(i);
    }
    for (uint32_t i = 0; i < HS_STACK_END_N; i++) {
        if (i != HS_STACK_END) {
            known[known_count++] = hs_loss_of_stack_end(i);
        }
    }
    known[known_count++] = hs_loss_of_cut_stacks();
    known[known_count++] = hs_loss_of_guess(false);
    known[known_count++] = hs_loss_of_guess(true);
    for (uint32_t i = 0; i < HS_LOAD_LOSS_N; i++) {
        known[known_count++] = hs_loss_of_load((enum hs_load_loss)i);
    }
    for (uint32_t i = HS_REFUSAL_CONCURRENT + 1; i < HS_REFUSAL_N; i++) {
        known[known_count++] = hs_loss_of_refusal(i);
    }
    return known_count;
}

void hs_report_write_health(struct hs_report *report)
{
    static const struct hs_table_column columns[] = {
        { "count", HS_TABLE_RIGHT },
        { "counter", HS_TABLE_LEFT },
        { "", HS_TABLE_LEFT },
        { "meaning", HS_TABLE_TEXT },
    };
    struct hs_loss_text known[KNOWN_MAX];
    size_t count;
    struct hs_profile_loss *sums = add_up(report, &count);
    struct hs_table table;
    struct hs_table *rows = hs_report_fits(report, HEALTH_COLUMNS) ? &table : NULL;
    size_t known_count = list_known(known);
    hs_table_init(&table, columns, HS_COUNT_OF(columns));
    hs_report_heading(report, "Health",
                      "what is missing, by reason; \"!\" marks what makes figures too low");
    warn_own_malloc(report);
    warn_unseen_programs(report);
    hs_report_write_refused(report);
    /* Of a file that is no trace, a counter of 0 would say that nothing was lost. */
    bool is_loss_known = !report->profile->origin;
    if (!is_loss_known) {
        hs_report_write_wrapped(report, "  ", LOSS_NOT_RECORDED);
    }
    for (int is_zero = 0; is_zero <= (is_loss_known ? 1 : 0); is_zero++) {
        for (size_t i = 0; i < known_count; i++) {
            add_counter(report, rows, is_zero, &known[i], sums, sums ? count : 0);
        }
        /* A file of a newer version may contain counters that this version cannot describe. */
        for (size_t i = 0; sums && i < count; i++) {
            const char *name = hs_profile_string(report->profile, sums[i].name);
            if (!is_known(name, known, known_count)) {
                const struct hs_loss_text text = { name, description_of(report->profile, &sums[i]),
                                                   sums[i].is_serious, sums[i].is_refusal };
                add_counter(report, rows, is_zero, &text, sums, count);
            }
        }
    }
    hs_table_write(&table, report->buf,
                   &(struct hs_table_style){ .indent = 2,
                                             .has_colour = report->options->has_colour,
                                             .has_titles = true });
    hs_table_deinit(&table);
    free(sums);
    hs_report_write_cut_modules(report, UINT32_MAX);
    if (is_loss_known) {
        write_work(report);
    }
}
