/*
 * What is recorded, and what it costs, as text: see list_model.h.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/daemon_client/list_model.h"
#include "collect/region/heap_selection.h"
#include "rt/base.h"
#include "rt/clock.h"
#include "util/human.h"
#include "util/table.h"

static const char *text_or(const char *text, const char *otherwise)
{
    return text && text[0] ? text : otherwise;
}

static const char *since(char *text, uint64_t start_real_ns)
{
    uint64_t now = hs_clock_ns(CLOCK_REALTIME);
    return hs_human_duration(text, now > start_real_ns ? now - start_real_ns : 0);
}

/* The names and pids of a session: "nginx, *.py, 1234" */
static void put_targets(struct hs_buf *text, const Hs__Ctl__Session *session)
{
    const char *between = "";
    if (session->is_all) {
        hs_buf_str(text, "all");
        between = ", ";
    }
    for (size_t i = 0; i < session->n_name; i++, between = ", ") {
        hs_buf_printf(text, "%s%s", between, session->name[i]);
    }
    for (size_t i = 0; i < session->n_pid; i++, between = ", ") {
        hs_buf_printf(text, "%s%u", between, session->pid[i]);
    }
}

static void add_session(struct hs_table *table, const Hs__Ctl__Session *session)
{
    char human[HS_HUMAN_BYTES];
    struct hs_buf targets = HS_BUF_INIT;
    put_targets(&targets, session);
    hs_table_cell(table, "%s", text_or(session->session, "?"));
    hs_table_cell(table, "%s", text_or(session->state, "?"));
    hs_table_cell(table, "%" PRIu64, session->interval_bytes);
    hs_table_cell(table, "%s", since(human, session->start_real_ns));
    hs_table_cell(table, "%" PRIu64 "/%" PRIu64, session->running_count, session->process_count);
    hs_table_cell(table, "%s", hs_human_count(human, (double)session->dump_count));
    hs_table_cell(table, "%s", hs_human_count(human, (double)session->sample_count));
    hs_table_cell(table, "%s", hs_human_bytes(human, (double)session->file_bytes));
    hs_table_cell(table, "%s", hs_human_bytes(human, (double)session->region_bytes));
    hs_table_cell(table, "%s", hs_buf_text(&targets));
    hs_buf_deinit(&targets);
}

static size_t count_sessions(const struct hs_lists *lists)
{
    size_t count = 0;
    for (size_t i = 0; i < lists->count; i++) {
        count += lists->items[i].now->n_sessions;
    }
    return count;
}

static void write_sessions(const struct hs_lists *lists, struct hs_buf *out, unsigned columns)
{
    static const struct hs_table_column heads[] = {
        { "SESSION", HS_TABLE_LEFT },   { "STATE", HS_TABLE_LEFT },  { "INTERVAL", HS_TABLE_RIGHT },
        { "SINCE", HS_TABLE_RIGHT },    { "PROCS", HS_TABLE_RIGHT }, { "DUMPS", HS_TABLE_RIGHT },
        { "SAMPLES", HS_TABLE_RIGHT },  { "FILE", HS_TABLE_RIGHT },  { "REGIONS", HS_TABLE_RIGHT },
        { "PROCESSES", HS_TABLE_TEXT },
    };
    struct hs_table table;
    hs_table_init(&table, heads, HS_COUNT_OF(heads));
    for (size_t i = 0; i < lists->count; i++) {
        for (size_t k = 0; k < lists->items[i].now->n_sessions; k++) {
            add_session(&table, lists->items[i].now->sessions[k]);
        }
    }
    hs_table_write(&table, out,
                   &(struct hs_table_style){
                       .columns = columns, .has_titles = true, .give_way = "8 7 5 2 6 3 4" });
    hs_table_deinit(&table);
}

static void put_heap(struct hs_buf *text, const char *name, uint64_t interval_bytes)
{
    hs_buf_printf(text, "%s%s", text->bytes > 0 ? ", " : "", name);
    if (interval_bytes != HS_INTERVAL_SAME) {
        hs_buf_printf(text, "=%" PRIu64, interval_bytes);
    }
}

/* Is this what a session records when nothing is selected? */
static bool is_default(const Hs__Ctl__Heaps *heaps)
{
    return !heaps->is_without_malloc && !heaps->is_without_others && !heaps->has_lifetimes &&
           !heaps->is_native_only && heaps->other_interval_bytes == 0 && heaps->n_pattern == 1 &&
           heaps->n_interval_bytes == 1 && strcmp(heaps->pattern[0], HS_HEAP_NAME_PYTHON) == 0 &&
           heaps->interval_bytes[0] == HS_INTERVAL_BYTES_DEFAULT_PYTHON;
}

/* The heaps of a session, as its options select them: "libc.malloc, arena=1", "all but gpu*" */
static void put_heaps(struct hs_buf *text, const Hs__Ctl__Heaps *heaps)
{
    struct hs_buf left_out = HS_BUF_INIT;
    if (!heaps->is_without_others) {
        put_heap(text, "all",
                 heaps->other_interval_bytes > 0 ? heaps->other_interval_bytes : HS_INTERVAL_SAME);
    }
    if (heaps->is_without_malloc && !heaps->is_without_others) {
        put_heap(&left_out, HS_HEAP_MALLOC, HS_INTERVAL_SAME);
    } else if (!heaps->is_without_malloc && heaps->is_without_others) {
        put_heap(text, HS_HEAP_MALLOC, HS_INTERVAL_SAME);
    }
    for (size_t i = 0; i < heaps->n_pattern && i < heaps->n_interval_bytes; i++) {
        bool is_left_out = heaps->interval_bytes[i] == HS_INTERVAL_OFF;
        put_heap(is_left_out ? &left_out : text, heaps->pattern[i],
                 is_left_out ? HS_INTERVAL_SAME : heaps->interval_bytes[i]);
    }
    if (left_out.bytes > 0) {
        hs_buf_printf(text, " but %s", hs_buf_text(&left_out));
    }
    hs_buf_deinit(&left_out);
    hs_buf_str(text, heaps->has_lifetimes ? ", with lifetimes" : "");
    hs_buf_str(text, heaps->is_native_only ? ", native frames only" : "");
}

/* The heaps of sessions with a selection; nothing if there is no such session. */
static void write_heaps(const struct hs_lists *lists, struct hs_buf *out, unsigned columns)
{
    static const struct hs_table_column heads[] = { { "SESSION", HS_TABLE_LEFT },
                                                    { "HEAPS", HS_TABLE_TEXT } };
    struct hs_table table;
    bool is_any = false;
    hs_table_init(&table, heads, HS_COUNT_OF(heads));
    for (size_t i = 0; i < lists->count; i++) {
        for (size_t k = 0; k < lists->items[i].now->n_sessions; k++) {
            const Hs__Ctl__Session *session = lists->items[i].now->sessions[k];
            struct hs_buf heaps = HS_BUF_INIT;
            if (session->heaps && !is_default(session->heaps)) {
                is_any = true;
                put_heaps(&heaps, session->heaps);
                hs_table_cell(&table, "%s", text_or(session->session, "?"));
                hs_table_cell(&table, "%s", hs_buf_text(&heaps));
            }
            hs_buf_deinit(&heaps);
        }
    }
    if (is_any) {
        hs_buf_char(out, '\n');
        hs_table_write(&table, out,
                       &(struct hs_table_style){ .columns = columns, .has_titles = true });
    }
    hs_table_deinit(&table);
}

static size_t count_clients(const struct hs_lists *lists)
{
    size_t count = 0;
    for (size_t i = 0; i < lists->count; i++) {
        count += lists->items[i].now->n_clients;
    }
    return count;
}

static void add_client(struct hs_table *table, const struct hs_list_model *listed, size_t idx)
{
    char human[HS_HUMAN_BYTES];
    struct hs_cost cost;
    const Hs__Ctl__Client *client = listed->now->clients[idx];
    hs_cost_of_client(listed, idx, &cost);
    hs_table_cell(table, "%u", client->pid);
    hs_table_cell(table, "%s", since(human, client->start_real_ns));
    hs_table_cell(table, "%s%s", client->session ? "by " : "dormant", text_or(client->session, ""));
    if (client->session && client->has_live_bytes) {
        hs_table_cell(table, "%s", hs_human_bytes(human, (double)client->live_bytes));
    } else {
        hs_table_cell(table, "-");
    }
    hs_table_cell(table, "%s", hs_human_bytes(human, (double)client->region_bytes));
    if (cost.is_known && client->session) {
        hs_table_cell(table, "%s", hs_human_count(human, cost.samples_a_second));
        hs_table_cell(table, "%s", hs_human_share(human, cost.overhead_share, 1.0));
    } else {
        hs_table_cell(table, "-");
        hs_table_cell(table, "-");
    }
    hs_table_cell(table, "%s", text_or(client->process, "?"));
}

static void write_clients(const struct hs_lists *lists, struct hs_buf *out, unsigned columns)
{
    static const struct hs_table_column heads[] = {
        { "PID", HS_TABLE_RIGHT },      { "SINCE", HS_TABLE_RIGHT },
        { "RECORDED", HS_TABLE_LEFT },  { "LIVE", HS_TABLE_RIGHT },
        { "REGION", HS_TABLE_RIGHT },   { "SAMPLES/S", HS_TABLE_RIGHT },
        { "OVERHEAD", HS_TABLE_RIGHT }, { "PROGRAM", HS_TABLE_TEXT },
    };
    struct hs_table table;
    hs_table_init(&table, heads, HS_COUNT_OF(heads));
    for (size_t i = 0; i < lists->count; i++) {
        for (size_t k = 0; k < lists->items[i].now->n_clients; k++) {
            add_client(&table, &lists->items[i], k);
        }
    }
    hs_table_write(&table, out,
                   &(struct hs_table_style){
                       .columns = columns, .has_titles = true, .give_way = "5 4 1 6 3" });
    hs_table_deinit(&table);
}

/* One endpoint: "  0.12 s CPU, 0.3 % now, 3.1 MiB", the share of a processor and the memory */
static void write_place(const struct hs_list_model *listed, struct hs_buf *out)
{
    const Hs__Ctl__Listed *now = listed->now;
    char cpu[HS_HUMAN_BYTES], memory[HS_HUMAN_BYTES], age[HS_HUMAN_BYTES], share[HS_HUMAN_BYTES];
    struct hs_cost cost;
    hs_cost_of_endpoint(listed, &cost);
    hs_buf_printf(out, "%s %u%s, for %s\n  %s CPU, ", text_or(now->command, "daemon"), now->pid,
                  now->is_system ? ", the system's" : "", since(age, now->start_real_ns),
                  hs_human_duration(cpu, now->cpu_ns));
    if (cost.is_known) {
        hs_buf_printf(out, "%s now, ", hs_human_share(share, cost.cpu_share, 1.0));
    }
    hs_buf_printf(out, "%s\n", hs_human_bytes(memory, (double)now->rss_bytes));
}

void hs_list_text(const struct hs_lists *lists, unsigned columns, struct hs_buf *out)
{
    size_t recording_count = lists->count - lists->daemon_count;
    if (lists->daemon_count == 0) {
        hs_buf_printf(out, "no daemon; %zu recording%s\n", recording_count,
                      recording_count == 1 ? "" : "s");
    }
    for (size_t i = 0; i < lists->count; i++) {
        write_place(&lists->items[i], out);
    }
    size_t session_count = count_sessions(lists);
    hs_buf_str(out, session_count ? "\n" : "\nno session\n");
    if (session_count) {
        write_sessions(lists, out, columns);
        write_heaps(lists, out, columns);
    }
    size_t client_count = count_clients(lists);
    hs_buf_str(out, client_count ? "\n" : "\nno program has announced itself\n");
    if (client_count) {
        write_clients(lists, out, columns);
    }
    hs_list_watches_text(lists, columns, out);
}
