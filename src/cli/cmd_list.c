/*
 * heapscope list: programs that announced themselves to the daemon, and its sessions, with what they cost.
 *
 * See       daemon/request_list.c, docs/man/heapscope-list.1
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/ask_daemon.h"
#include "cli/cmd.h"
#include "ctl/ctl.pb-c.h"
#include "util/buf.h"
#include "util/human.h"
#include "util/json.h"
#include "util/table.h"

static const char *text_or(const char *text, const char *otherwise)
{
    return text && text[0] ? text : otherwise;
}

static uint64_t now_real_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
}

static const char *since(char *text, uint64_t start_real_ns)
{
    uint64_t now = now_real_ns();
    return hs_human_duration(text, now > start_real_ns ? now - start_real_ns : 0);
}

/* --- text -------------------------------------------------------------------------------------- */

/* "nginx, *.py, 1234" */
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

static void write_sessions(const Hs__Ctl__Listed *listed, struct hs_buf *out, unsigned columns)
{
    static const struct hs_table_column heads[] = {
        { "SESSION", HS_TABLE_LEFT },   { "STATE", HS_TABLE_LEFT },  { "INTERVAL", HS_TABLE_RIGHT },
        { "SINCE", HS_TABLE_RIGHT },    { "PROCS", HS_TABLE_RIGHT }, { "DUMPS", HS_TABLE_RIGHT },
        { "SAMPLES", HS_TABLE_RIGHT },  { "FILE", HS_TABLE_RIGHT },  { "REGIONS", HS_TABLE_RIGHT },
        { "PROCESSES", HS_TABLE_TEXT },
    };
    struct hs_table table;
    char human[HS_HUMAN_BYTES];
    hs_table_init(&table, heads, HS_COUNT_OF(heads));
    for (size_t i = 0; i < listed->n_sessions; i++) {
        const Hs__Ctl__Session *session = listed->sessions[i];
        struct hs_buf targets = HS_BUF_INIT;
        put_targets(&targets, session);
        hs_table_cell(&table, "%s", text_or(session->session, "?"));
        hs_table_cell(&table, "%s", text_or(session->state, "?"));
        hs_table_cell(&table, "%" PRIu64, session->interval_bytes);
        hs_table_cell(&table, "%s", since(human, session->start_real_ns));
        hs_table_cell(&table, "%" PRIu64 "/%" PRIu64, session->running_count,
                      session->process_count);
        hs_table_cell(&table, "%s", hs_human_count(human, (double)session->dump_count));
        hs_table_cell(&table, "%s", hs_human_count(human, (double)session->sample_count));
        hs_table_cell(&table, "%s", hs_human_bytes(human, (double)session->file_bytes));
        hs_table_cell(&table, "%s", hs_human_bytes(human, (double)session->region_bytes));
        hs_table_cell(&table, "%s", hs_buf_text(&targets));
        hs_buf_deinit(&targets);
    }
    hs_table_write(&table, out,
                   &(struct hs_table_style){
                       .columns = columns, .has_titles = true, .give_way = "8 7 5 2 6 3 4" });
    hs_table_deinit(&table);
}

static void write_clients(const Hs__Ctl__Listed *listed, struct hs_buf *out, unsigned columns)
{
    static const struct hs_table_column heads[] = {
        { "PID", HS_TABLE_RIGHT },    { "SINCE", HS_TABLE_RIGHT },  { "RECORDED", HS_TABLE_LEFT },
        { "REGION", HS_TABLE_RIGHT }, { "PROGRAM", HS_TABLE_TEXT },
    };
    struct hs_table table;
    char human[HS_HUMAN_BYTES];
    hs_table_init(&table, heads, HS_COUNT_OF(heads));
    for (size_t i = 0; i < listed->n_clients; i++) {
        const Hs__Ctl__Client *client = listed->clients[i];
        hs_table_cell(&table, "%u", client->pid);
        hs_table_cell(&table, "%s", since(human, client->start_real_ns));
        hs_table_cell(&table, "%s%s", client->session ? "by " : "dormant",
                      text_or(client->session, ""));
        hs_table_cell(&table, "%s", hs_human_bytes(human, (double)client->region_bytes));
        hs_table_cell(&table, "%s", text_or(client->process, "?"));
    }
    hs_table_write(
        &table, out,
        &(struct hs_table_style){ .columns = columns, .has_titles = true, .give_way = "3 1" });
    hs_table_deinit(&table);
}

static void write_text(const Hs__Ctl__Listed *listed, struct hs_buf *out)
{
    char cpu[HS_HUMAN_BYTES], memory[HS_HUMAN_BYTES], age[HS_HUMAN_BYTES];
    unsigned columns = hs_args_columns(STDOUT_FILENO);
    hs_buf_printf(out, "daemon %u%s, for %s\n  %s CPU, %s of memory\n", listed->pid,
                  listed->is_system ? ", the system's" : "", since(age, listed->start_real_ns),
                  hs_human_duration(cpu, listed->cpu_ns),
                  hs_human_bytes(memory, (double)listed->rss_bytes));
    hs_buf_str(out, listed->n_sessions ? "\n" : "\nno session\n");
    if (listed->n_sessions) {
        write_sessions(listed, out, columns);
    }
    hs_buf_str(out, listed->n_clients ? "\n" : "\nno program has announced itself\n");
    if (listed->n_clients) {
        write_clients(listed, out, columns);
    }
}

/* --- JSON -------------------------------------------------------------------------------------- */

static void put_session(struct hs_json *json, const Hs__Ctl__Session *session)
{
    hs_json_open(json, '{');
    hs_json_kv_string(json, "session", text_or(session->session, ""));
    hs_json_kv_string(json, "state", text_or(session->state, ""));
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
    hs_json_kv_string(json, "path", text_or(session->path, ""));
    if (session->error) {
        hs_json_kv_string(json, "error", session->error);
    }
    hs_json_close(json, '}');
}

static void put_client(struct hs_json *json, const Hs__Ctl__Client *client)
{
    hs_json_open_inline(json, '{');
    hs_json_kv_uint(json, "pid", client->pid);
    hs_json_kv_string(json, "name", text_or(client->process, ""));
    hs_json_kv_uint(json, "uid", client->uid);
    hs_json_kv_uint(json, "start_real_ns", client->start_real_ns);
    hs_json_kv_bool(json, "is_dormant", client->session == NULL);
    if (client->session) {
        hs_json_kv_string(json, "session", client->session);
    }
    hs_json_kv_uint(json, "region_bytes", client->region_bytes);
    hs_json_close(json, '}');
}

static void write_json(const Hs__Ctl__Listed *listed, struct hs_buf *out)
{
    struct hs_json json;
    hs_json_init(&json, out, 2);
    hs_json_open(&json, '{');
    hs_json_key(&json, "daemon");
    hs_json_open_inline(&json, '{');
    hs_json_kv_uint(&json, "pid", listed->pid);
    hs_json_kv_bool(&json, "is_system", listed->is_system);
    hs_json_kv_uint(&json, "start_real_ns", listed->start_real_ns);
    hs_json_kv_uint(&json, "cpu_ns", listed->cpu_ns);
    hs_json_kv_uint(&json, "rss_bytes", listed->rss_bytes);
    hs_json_close(&json, '}');
    hs_json_key(&json, "sessions");
    hs_json_open(&json, '[');
    for (size_t i = 0; i < listed->n_sessions; i++) {
        put_session(&json, listed->sessions[i]);
    }
    hs_json_close(&json, ']');
    hs_json_key(&json, "clients");
    hs_json_open(&json, '[');
    for (size_t i = 0; i < listed->n_clients; i++) {
        put_client(&json, listed->clients[i]);
    }
    hs_json_close(&json, ']');
    hs_json_close(&json, '}');
    hs_buf_char(out, '\n');
}

/* --- all --------------------------------------------------------------------------------------- */

int hs_cmd_list(int argc, char **argv)
{
    bool is_json = false;
    const struct hs_opt options[] = { HS_OPT_FLAG(0, "json", &is_json, "as JSON") };
    const struct hs_opts_spec spec = {
        .command = "list",
        .summary = "show the daemon's sessions, and the programs it can profile",
        .operands_usage = "",
        .options = options,
        .option_count = HS_COUNT_OF(options),
    };
    struct hs_opts_result args;
    int status = hs_args_parse(&spec, argc, argv, &args);
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    Hs__Ctl__List request = HS__CTL__LIST__INIT;
    struct hs_ctl_message answer = { 0 };
    status = hs_ask_daemon(HS_CTL_LIST, &request.base, NULL, 0, HS_ASK_SOON, &answer);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    ProtobufCMessage *body = hs_ctl_unpack(&answer, &hs__ctl__listed__descriptor);
    struct hs_buf out = HS_BUF_INIT;
    if (body) {
        const Hs__Ctl__Listed *listed = (const Hs__Ctl__Listed *)(const void *)body;
        (is_json ? write_json : write_text)(listed, &out);
        fwrite(out.data, 1, out.bytes, stdout);
        protobuf_c_message_free_unpacked(body, NULL);
    }
    hs_buf_deinit(&out);
    hs_ctl_message_deinit(&answer);
    return body ? hs_args_finish_output() : HS_EXIT_STATUS_FAILED;
}
