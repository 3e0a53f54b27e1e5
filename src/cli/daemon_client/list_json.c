/*
 * What is recorded, and what it costs, as JSON: see list_model.h.
 *
 * "daemon", "sessions" and "clients" belong to the first daemon; "recordings" lists run and attach,
 * each with its own session and clients. So a script that knows only daemons finds nothing else
 * under the first three keys.
 */
#include "cli/daemon_client/list_model.h"
#include "collect/region/heap_selection.h"
#include "util/json.h"

static void put_heap(struct hs_json *json, const char *name, uint64_t interval_bytes)
{
    hs_json_open_inline(json, '{');
    hs_json_kv_string(json, "name", name);
    if (interval_bytes == HS_INTERVAL_OFF) {
        hs_json_kv_bool(json, "is_left_out", true);
    } else {
        hs_json_kv_uint(json, "interval_bytes", interval_bytes);
    }
    hs_json_close(json, '}');
}

/* Names and globs of heaps, of which the first one that matches says what is done with a heap. */
static void put_heaps(struct hs_json *json, const Hs__Ctl__Session *session)
{
    const Hs__Ctl__Heaps *heaps = session->heaps;
    uint64_t others = session->interval_bytes;
    hs_json_key(json, "heaps");
    hs_json_open(json, '[');
    if (heaps) {
        put_heap(json, HS_HEAP_MALLOC,
                 heaps->is_without_malloc ? HS_INTERVAL_OFF : session->interval_bytes);
        for (size_t i = 0; i < heaps->n_pattern && i < heaps->n_interval_bytes; i++) {
            bool is_same = heaps->interval_bytes[i] == HS_INTERVAL_SAME;
            put_heap(json, heaps->pattern[i],
                     is_same ? session->interval_bytes : heaps->interval_bytes[i]);
        }
        others = heaps->is_without_others          ? HS_INTERVAL_OFF
                 : heaps->other_interval_bytes > 0 ? heaps->other_interval_bytes
                                                   : others;
    }
    put_heap(json, "*", others);
    hs_json_close(json, ']');
    hs_json_kv_bool(json, "lifetimes", heaps && heaps->has_lifetimes);
    hs_json_kv_bool(json, "native_only", heaps && heaps->is_native_only);
}

static void put_session(struct hs_json *json, const Hs__Ctl__Session *session)
{
    hs_json_open(json, '{');
    hs_json_kv_string(json, "session", session->session ? session->session : "");
    hs_json_kv_string(json, "state", session->state ? session->state : "");
    hs_json_kv_uint(json, "uid", session->uid);
    hs_json_kv_bool(json, "all", session->is_all);
    hs_json_key(json, "names");
    hs_json_open_inline(json, '[');
    for (size_t i = 0; i < session->n_name; i++) {
        hs_json_string(json, session->name[i]);
    }
    hs_json_close(json, ']');
    hs_json_key(json, "pids");
    hs_json_open_inline(json, '[');
    for (size_t i = 0; i < session->n_pid; i++) {
        hs_json_uint(json, session->pid[i]);
    }
    hs_json_close(json, ']');
    hs_json_kv_uint(json, "interval_bytes", session->interval_bytes);
    put_heaps(json, session);
    hs_json_kv_uint(json, "start_real_ns", session->start_real_ns);
    if (session->has_end_real_ns) {
        hs_json_kv_uint(json, "end_real_ns", session->end_real_ns);
    }
    hs_json_kv_uint(json, "running_count", session->running_count);
    hs_json_kv_uint(json, "process_count", session->process_count);
    hs_json_kv_uint(json, "rejected_count", session->rejected_count);
    hs_json_kv_uint(json, "dump_count", session->dump_count);
    hs_json_kv_uint(json, "sample_count", session->sample_count);
    hs_json_kv_uint(json, "file_bytes", session->file_bytes);
    hs_json_kv_uint(json, "region_bytes", session->region_bytes);
    hs_json_kv_string(json, "path", session->path ? session->path : "");
    if (session->error) {
        hs_json_kv_string(json, "error", session->error);
    }
    hs_json_close(json, '}');
}

static void put_costs(struct hs_json *json, const struct hs_cost *cost)
{
    if (cost->is_known) {
        hs_json_kv_double(json, "samples_per_second", cost->samples_a_second);
        hs_json_kv_double(json, "overhead_share", cost->overhead_share);
    }
}

static void put_client(struct hs_json *json, const struct hs_list_model *listed, size_t idx)
{
    const Hs__Ctl__Client *client = listed->now->clients[idx];
    struct hs_cost cost;
    hs_json_open_inline(json, '{');
    hs_json_kv_uint(json, "pid", client->pid);
    hs_json_kv_string(json, "name", client->process ? client->process : "");
    hs_json_kv_uint(json, "uid", client->uid);
    hs_json_kv_uint(json, "start_real_ns", client->start_real_ns);
    hs_json_kv_bool(json, "is_dormant", client->session == NULL);
    hs_json_kv_uint(json, "region_bytes", client->region_bytes);
    if (client->has_cpu_ns) {
        hs_json_kv_uint(json, "cpu_ns", client->cpu_ns);
    }
    if (client->session) {
        hs_json_kv_string(json, "session", client->session);
        hs_json_kv_uint(json, "interval_bytes", client->interval_bytes);
        hs_json_kv_uint(json, "sample_count", client->sample_count);
        if (client->has_live_bytes) {
            hs_json_kv_uint(json, "live_bytes", client->live_bytes);
        }
        hs_cost_of_client(listed, idx, &cost);
        put_costs(json, &cost);
    }
    hs_json_close(json, '}');
}

static void put_sessions(struct hs_json *json, const struct hs_list_model *listed)
{
    hs_json_key(json, "sessions");
    hs_json_open(json, '[');
    for (size_t i = 0; listed && i < listed->now->n_sessions; i++) {
        put_session(json, listed->now->sessions[i]);
    }
    hs_json_close(json, ']');
}

static void put_clients(struct hs_json *json, const struct hs_list_model *listed)
{
    hs_json_key(json, "clients");
    hs_json_open(json, '[');
    for (size_t i = 0; listed && i < listed->now->n_clients; i++) {
        put_client(json, listed, i);
    }
    hs_json_close(json, ']');
}

static void put_place(struct hs_json *json, const struct hs_list_model *listed)
{
    const Hs__Ctl__Listed *now = listed->now;
    struct hs_cost cost;
    hs_json_kv_uint(json, "pid", now->pid);
    if (now->command) {
        hs_json_kv_string(json, "command", now->command);
    } else {
        hs_json_kv_bool(json, "is_system", now->is_system);
    }
    hs_json_kv_uint(json, "uid", now->uid);
    hs_json_kv_uint(json, "start_real_ns", now->start_real_ns);
    hs_json_kv_uint(json, "cpu_ns", now->cpu_ns);
    hs_json_kv_uint(json, "rss_bytes", now->rss_bytes);
    hs_cost_of_endpoint(listed, &cost);
    if (cost.is_known) {
        hs_json_kv_double(json, "cpu_share", cost.cpu_share);
    }
}

static void put_daemon(struct hs_json *json, const struct hs_list_model *listed)
{
    hs_json_open_inline(json, '{');
    put_place(json, listed);
    hs_json_close(json, '}');
}

static void put_whole(struct hs_json *json, const struct hs_list_model *listed)
{
    hs_json_open(json, '{');
    put_place(json, listed);
    put_sessions(json, listed);
    put_clients(json, listed);
    hs_list_watches_json(json, listed);
    hs_json_close(json, '}');
}

void hs_list_json(const struct hs_lists *lists, struct hs_buf *out)
{
    struct hs_json json;
    const struct hs_list_model *daemon = lists->daemon_count > 0 ? &lists->items[0] : NULL;
    hs_json_init(&json, out, 2);
    hs_json_open(&json, '{');
    hs_json_key(&json, "daemon");
    if (daemon) {
        put_daemon(&json, daemon);
    } else {
        hs_json_null(&json);
    }
    put_sessions(&json, daemon);
    put_clients(&json, daemon);
    hs_list_watches_json(&json, daemon);
    hs_json_key(&json, "other_daemons");
    hs_json_open(&json, '[');
    for (size_t i = 1; i < lists->daemon_count; i++) {
        put_whole(&json, &lists->items[i]);
    }
    hs_json_close(&json, ']');
    hs_json_key(&json, "recordings");
    hs_json_open(&json, '[');
    for (size_t i = lists->daemon_count; i < lists->count; i++) {
        put_whole(&json, &lists->items[i]);
    }
    hs_json_close(&json, ']');
    hs_json_close(&json, '}');
    hs_buf_char(out, '\n');
}
