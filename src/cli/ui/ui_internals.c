/*
 * Our own memory: this server, daemons, commands that record, and the processes that they start.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ui/ui_capture.h"
#include "cli/ui/ui_handlers.h"
#include "rt/text.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/proc.h"
#include "util/proc_text.h"
#include "util/write_all.h"

#define LINE_BYTES 512

/* /proc/PID/smaps_rollup, in bytes. */
struct memory {
    uint64_t rss, pss, private_, shared, swap;
};

static bool read_memory(pid_t pid, struct memory *ret_memory)
{
    char text[4096];
    size_t bytes = 0;
    struct hs_proc_text all, line;
    *ret_memory = (struct memory){ 0, 0, 0, 0, 0 };
    if (hs_proc_read(pid, "smaps_rollup", text, sizeof(text), &bytes) != 0) {
        return false;
    }
    const struct {
        const char *key;
        uint64_t *sum;
    } keys[] = {
        { "Rss", &ret_memory->rss },
        { "Pss", &ret_memory->pss },
        { "Private_Clean", &ret_memory->private_ },
        { "Private_Dirty", &ret_memory->private_ },
        { "Shared_Clean", &ret_memory->shared },
        { "Shared_Dirty", &ret_memory->shared },
        { "Swap", &ret_memory->swap },
    };
    all = (struct hs_proc_text){ text, text + bytes };
    while (hs_proc_text_take_line(&all, &line)) {
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            uint64_t value;
            if (hs_proc_text_take_key(&line, keys[i].key) &&
                hs_proc_text_take_size(&line, &value)) {
                *keys[i].sum += value;
            }
        }
    }
    return true;
}

/* Does the process run a file of the folder of this program, called heapscope or heapscoped? */
static bool is_ours(pid_t pid, const char *own_folder)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    ssize_t bytes = readlink(link, path, sizeof(path) - 1);
    if (bytes <= 0) {
        return false;
    }
    path[bytes] = '\0';
    const char *base = hs_text_base_name(path);
    return hs_text_starts_with(base, "heapscope") &&
           strncmp(path, own_folder, (size_t)(base - path)) == 0 && own_folder[base - path] == '\0';
}

static void find_own_folder(char ret_folder[PATH_MAX])
{
    ssize_t bytes = readlink("/proc/self/exe", ret_folder, PATH_MAX - 1);
    ret_folder[bytes > 0 ? bytes : 0] = '\0';
    const char *base = hs_text_base_name(ret_folder);
    ret_folder[base - ret_folder] = '\0';
}

static void put_process(struct hs_json *json, pid_t pid)
{
    char text[LINE_BYTES], line[LINE_BYTES];
    struct hs_proc_stat stat;
    struct memory memory;
    size_t bytes = 0;
    if (hs_proc_read_stat(pid, &stat) != 0 || !read_memory(pid, &memory)) {
        return;
    }
    hs_json_open_inline(json, '{');
    hs_json_kv_uint(json, "pid", (uint64_t)pid);
    hs_json_kv_uint(json, "ppid", stat.ppid);
    hs_json_kv_bool(json, "is_ui", pid == getppid());
    hs_json_kv_string(json, "name", stat.comm);
    if (hs_proc_read(pid, "cmdline", text, sizeof(text), &bytes) == 0) {
        hs_proc_join_cmdline(text, bytes, line, sizeof(line));
        hs_json_kv_string(json, "command", line);
    }
    hs_json_kv_uint(json, "rss_bytes", memory.rss);
    hs_json_kv_uint(json, "pss_bytes", memory.pss);
    hs_json_kv_uint(json, "private_bytes", memory.private_);
    hs_json_kv_uint(json, "shared_bytes", memory.shared);
    hs_json_kv_uint(json, "swap_bytes", memory.swap);
    hs_json_kv_uint(json, "cpu_ms",
                    (stat.user_ticks + stat.kernel_ticks) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
    hs_json_close(json, '}');
}

static void put_processes(struct hs_json *json)
{
    char folder[PATH_MAX];
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    find_own_folder(folder);
    hs_json_key(json, "processes");
    hs_json_open(json, '[');
    while (proc && (entry = readdir(proc)) != NULL) {
        char *end = NULL;
        long pid = strtol(entry->d_name, &end, 10);
        if (!*end && pid > 0 && (pid_t)pid != getpid() && is_ours((pid_t)pid, folder)) {
            put_process(json, (pid_t)pid);
        }
    }
    hs_json_close(json, ']');
    if (proc) {
        closedir(proc);
    }
}

/* Answers that are kept: files in memory. */
static uint64_t kept_bytes(const struct hs_ui *ui)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < HS_UI_STORED_MAX; i++) {
        for (size_t j = 0; ui->stored[i].fd >= 0 && j < ui->stored[i].count; j++) {
            sum += ui->stored[i].documents[j].bytes;
        }
    }
    return sum;
}

static void put_server(struct hs_json *json, const struct hs_ui *ui)
{
    struct hs_http_counts counts = hs_http_server_counts(ui->server);
    hs_json_key(json, "server");
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "start_real_ns", ui->start_real_ns);
    hs_json_kv_uint(json, "request_count", counts.request_count);
    hs_json_kv_uint(json, "refused_count", counts.refused_count);
    hs_json_kv_uint(json, "foreign_connection_count", counts.foreign_count);
    hs_json_kv_uint(json, "slow_connection_count", counts.slow_count);
    hs_json_kv_uint(json, "connection_count", counts.connection_count);
    hs_json_kv_uint(json, "job_count", counts.job_count);
    hs_json_kv_uint(json, "stream_count", counts.stream_count);
    hs_json_kv_uint(json, "kept_answer_bytes", kept_bytes(ui));
    hs_json_close(json, '}');
}

void hs_ui_get_internals(void *ctx, const struct hs_http_request *request,
                         struct hs_http_answer *answer)
{
    struct hs_buf out = HS_BUF_INIT;
    struct hs_json json;
    (void)request;
    hs_json_init(&json, &out, 2);
    hs_json_open(&json, '{');
    put_server(&json, ctx);
    put_processes(&json);
    hs_json_close(&json, '}');
    if (out.err || hs_write_all(STDOUT_FILENO, out.data, out.bytes) != 0) {
        hs_ui_fail(answer, 500, "out of memory");
    }
    hs_buf_deinit(&out);
}
