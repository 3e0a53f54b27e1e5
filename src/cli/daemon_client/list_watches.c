/*
 * Who watches which process, and what that costs, as text and as JSON: see list_model.h.
 */
#include <inttypes.h>

#include "cli/daemon_client/list_model.h"
#include "rt/base.h"
#include "util/human.h"
#include "util/json.h"
#include "util/table.h"

/* The share of a processor that the worker needs as long as its looks cost what the last one did; 0
 * while nobody asks it. */
static double cpu_share(const Hs__Ctl__Watching *watch)
{
    return watch->is_waiting || watch->interval_ms == 0
               ? 0
               : (double)watch->look_cpu_ns / 1e6 / (double)watch->interval_ms;
}

static size_t count_watches(const struct hs_lists *lists)
{
    size_t count = 0;
    for (size_t i = 0; i < lists->count; i++) {
        count += lists->items[i].now->n_watches;
    }
    return count;
}

static void add_watch(struct hs_table *table, const Hs__Ctl__Watching *watch)
{
    char human[HS_HUMAN_BYTES];
    hs_table_cell(table, "%u", watch->viewer_pid);
    hs_table_cell(table, "%u", watch->pid);
    hs_table_cell(table, "%s",
                  hs_human_duration(human, (uint64_t)watch->interval_ms * UINT64_C(1000000)));
    hs_table_cell(table, "%s", hs_human_duration(human, watch->look_cpu_ns));
    if (watch->is_waiting) {
        hs_table_cell(table, "waits");
    } else {
        hs_table_cell(table, "%s", hs_human_share(human, cpu_share(watch), 1.0));
    }
    hs_table_cell(table, "%s", hs_human_duration(human, watch->cpu_ns));
    hs_table_cell(table, "%s", watch->process ? watch->process : "?");
}

void hs_list_watches_text(const struct hs_lists *lists, unsigned columns, struct hs_buf *out)
{
    static const struct hs_table_column heads[] = {
        { "VIEWER", HS_TABLE_RIGHT }, { "WATCHES", HS_TABLE_RIGHT }, { "EVERY", HS_TABLE_RIGHT },
        { "A LOOK", HS_TABLE_RIGHT }, { "CPU NOW", HS_TABLE_RIGHT }, { "CPU", HS_TABLE_RIGHT },
        { "PROGRAM", HS_TABLE_TEXT },
    };
    struct hs_table table;
    if (count_watches(lists) == 0) {
        return;
    }
    hs_table_init(&table, heads, HS_COUNT_OF(heads));
    for (size_t i = 0; i < lists->count; i++) {
        for (size_t k = 0; k < lists->items[i].now->n_watches; k++) {
            add_watch(&table, lists->items[i].now->watches[k]);
        }
    }
    hs_buf_char(out, '\n');
    hs_table_write(
        &table, out,
        &(struct hs_table_style){ .columns = columns, .has_titles = true, .give_way = "3 5 2" });
    hs_table_deinit(&table);
}

static void put_watch(struct hs_json *json, const Hs__Ctl__Watching *watch)
{
    hs_json_open_inline(json, '{');
    hs_json_kv_uint(json, "pid", watch->pid);
    hs_json_kv_string(json, "name", watch->process ? watch->process : "");
    hs_json_kv_string(json, "session", watch->session ? watch->session : "");
    hs_json_kv_uint(json, "viewer_pid", watch->viewer_pid);
    hs_json_kv_uint(json, "viewer_uid", watch->viewer_uid);
    hs_json_kv_uint(json, "worker_pid", watch->worker_pid);
    hs_json_kv_uint(json, "start_real_ns", watch->start_real_ns);
    hs_json_kv_uint(json, "asked_ms", watch->asked_ms);
    hs_json_kv_uint(json, "interval_ms", watch->interval_ms);
    hs_json_kv_uint(json, "look_count", watch->look_count);
    hs_json_kv_uint(json, "look_cpu_ns", watch->look_cpu_ns);
    hs_json_kv_uint(json, "cpu_ns", watch->cpu_ns);
    hs_json_kv_double(json, "cpu_share", cpu_share(watch));
    hs_json_kv_bool(json, "is_waiting", watch->is_waiting);
    hs_json_close(json, '}');
}

void hs_list_watches_json(struct hs_json *json, const struct hs_list_model *listed)
{
    hs_json_key(json, "watches");
    hs_json_open(json, '[');
    for (size_t i = 0; listed && i < listed->now->n_watches; i++) {
        put_watch(json, listed->now->watches[i]);
    }
    hs_json_close(json, ']');
}
