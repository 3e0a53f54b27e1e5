/*
 * The processes of the machine: what they are, how much memory they have, and whether they can be
 * profiled.
 *
 * All are read, those with the most memory are listed, and of the first ones of these it is found
 * out whether they can be profiled, which reads their mappings: so the cost has a limit.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ui/ui_capture.h"
#include "cli/ui/ui_handlers.h"
#include "collect/inspect/eligibility.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/proc.h"
#include "util/write_all.h"

#define LISTED_MAX  500U
#define CHECKED_MAX 200U
#define LINE_BYTES  512

struct process {
    pid_t pid;
    uint64_t rss_bytes, swap_bytes;
    uint32_t uid;
};

struct processes {
    struct process *items;
    size_t count, capacity;
};

static int by_memory(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    uint64_t xs = x->rss_bytes + x->swap_bytes, ys = y->rss_bytes + y->swap_bytes;
    return xs != ys ? (xs < ys ? 1 : -1) : (x->pid > y->pid) - (x->pid < y->pid);
}

static int read_all(struct processes *processes)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    int r = folder ? 0 : -errno;
    while (folder && r == 0 && (entry = readdir(folder)) != NULL) {
        struct hs_proc_status status;
        char *end = NULL;
        long pid = strtol(entry->d_name, &end, 10);
        /* Threads of the kernel and zombies have no memory. */
        if (*end || pid <= 0 || hs_proc_read_status((pid_t)pid, &status) != 0 ||
            status.vm_rss_bytes == 0) {
            continue;
        }
        r = hs_array_reserve(&processes->items, &processes->capacity, processes->count + 1,
                             sizeof(processes->items[0]));
        if (r == 0) {
            processes->items[processes->count++] =
                (struct process){ .pid = (pid_t)pid,
                                  .rss_bytes = status.vm_rss_bytes,
                                  .swap_bytes = status.vm_swap_bytes,
                                  .uid = status.uid.effective };
        }
    }
    if (folder) {
        closedir(folder);
    }
    return r;
}

static void put_command(struct hs_json *json, pid_t pid)
{
    char text[LINE_BYTES], line[LINE_BYTES];
    size_t bytes = 0;
    if (hs_proc_read(pid, "cmdline", text, sizeof(text), &bytes) == 0) {
        hs_proc_join_cmdline(text, bytes, line, sizeof(line));
        hs_json_kv_string(json, "command", line);
    }
}

/* "eligible" is left out where it was not looked at. */
static void put_eligibility(struct hs_json *json, const struct hs_eligibility *it)
{
    struct hs_eligibility_words words;
    hs_eligibility_words(it, &words);
    hs_json_kv_bool(json, "eligible", it->verdict <= HS_ELIGIBLE_FOR_DAEMON);
    hs_json_kv_bool(json, "is_recorded", it->client.state == HS_CLIENT_ACTIVE);
    hs_json_kv_string(json, "what", words.what);
    hs_json_kv_string(json, "remedy", words.remedy);
}

static void put_process(struct hs_json *json, const struct process *process, bool is_checked)
{
    struct hs_eligibility it;
    struct hs_proc_stat stat;
    if (hs_proc_read_stat(process->pid, &stat) != 0) {
        return; /* it has ended */
    }
    hs_json_open_inline(json, '{');
    hs_json_kv_uint(json, "pid", (uint64_t)process->pid);
    hs_json_kv_string(json, "name", stat.comm);
    put_command(json, process->pid);
    hs_json_kv_uint(json, "uid", process->uid);
    hs_json_kv_uint(json, "rss_bytes", process->rss_bytes);
    hs_json_kv_uint(json, "swap_bytes", process->swap_bytes);
    if (is_checked) {
        hs_eligibility_check(process->pid, &it);
        put_eligibility(json, &it);
    }
    hs_json_close(json, '}');
}

void hs_ui_get_processes(void *ctx, const struct hs_http_request *request,
                         struct hs_http_answer *answer)
{
    struct processes processes = { NULL, 0, 0 };
    struct hs_buf out = HS_BUF_INIT;
    struct hs_json json;
    (void)ctx;
    (void)request;
    int r = read_all(&processes);
    if (processes.count > 0) {
        qsort(processes.items, processes.count, sizeof(processes.items[0]), by_memory);
    }
    size_t listed = processes.count < LISTED_MAX ? processes.count : LISTED_MAX;
    hs_json_init(&json, &out, 2);
    hs_json_open(&json, '{');
    hs_json_kv_uint(&json, "count", processes.count);
    hs_json_kv_uint(&json, "left_out_count", processes.count - listed);
    hs_json_key(&json, "processes");
    hs_json_open(&json, '[');
    for (size_t i = 0; i < listed; i++) {
        put_process(&json, &processes.items[i], i < CHECKED_MAX);
    }
    hs_json_close(&json, ']');
    hs_json_close(&json, '}');
    r = r ? r : out.err ? out.err : hs_write_all(STDOUT_FILENO, out.data, out.bytes);
    if (r != 0) {
        hs_ui_fail(answer, 500, strerror(-r));
    }
    hs_buf_deinit(&out);
    free(processes.items);
}
