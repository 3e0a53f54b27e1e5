/*
 * See infra_names.h.
 */
#include "view/infra_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/describe.h"
#include "util/buf.h"
#include "util/intern.h"
#include "util/json.h"

/* Linux has no pid as large as this. */
#define PID_STEP    (UINT64_C(1) << 22)
#define NAME_MALLOC "malloc"

/*
 * The name with which a heap is tried: at first its own, then with a mark, then with its index and
 * more marks, so that many heaps whose names would be equal need few tries each.
 */
static char *heap_name(const char *name, uint32_t heap, size_t try_idx)
{
    bool is_malloc = strcmp(name, HS_PROFILE_HEAP_MALLOC) == 0;
    struct hs_buf text = HS_BUF_INIT;
    for (const char *at = is_malloc ? NAME_MALLOC : name; *at; at++) {
        hs_buf_char(&text, *at == '/' ? ':' : *at);
    }
    hs_buf_str(&text, try_idx > 0 ? "~" : "");
    if (try_idx > 1) {
        hs_buf_printf(&text, "%u", heap);
        hs_buf_repeat(&text, '~', try_idx - 2);
    }
    char *copy = text.err ? NULL : strdup(hs_buf_text(&text));
    hs_buf_deinit(&text);
    return copy;
}

static bool is_special(const char *name)
{
    return strcmp(name, "global") == 0 || strcmp(name, "tracing") == 0 || name[0] == '\0';
}

static int find_heap_name(struct hs_infra_names *names, struct hs_intern *used, uint32_t heap)
{
    const struct hs_profile *p = names->profile;
    bool is_new = false;
    int err = 0;
    for (size_t try_idx = 0; !is_new && err == 0; try_idx++) {
        uint32_t number;
        free(names->heaps[heap]);
        names->heaps[heap] = heap_name(hs_profile_string(p, p->heaps[heap]), heap, try_idx);
        const char *text = names->heaps[heap];
        err = text ? 0 : -ENOMEM;
        if (err == 0 && !is_special(text)) {
            err = hs_intern_put(used, hs_intern_hash(text, strlen(text)), &number, &is_new);
        }
    }
    return err;
}

static int find_heap_names(struct hs_infra_names *names)
{
    const struct hs_profile *p = names->profile;
    struct hs_intern used = { 0 };
    int err = 0;
    /* libc.malloc comes first, so that it gets the name that readers expect. */
    for (int is_other = 0; is_other < 2; is_other++) {
        for (uint32_t i = 0; i < p->heap_count && err == 0; i++) {
            bool is_malloc = strcmp(hs_profile_string(p, p->heaps[i]), HS_PROFILE_HEAP_MALLOC) == 0;
            if (is_malloc != is_other) {
                err = find_heap_name(names, &used, i);
            }
        }
    }
    hs_intern_deinit(&used);
    return err;
}

/* The entry that executed a program comes before that of the program, which gets another pid. */
static int find_pids(struct hs_infra_names *names)
{
    const struct hs_profile *p = names->profile;
    struct hs_intern used = { 0 };
    int err = 0;
    for (uint32_t i = 0; i < p->process_count && err == 0; i++) {
        bool is_new = false;
        uint64_t pid = p->processes[i].pid, step = i;
        for (; !is_new && err == 0; step++) {
            uint32_t number;
            err = hs_intern_put(&used, (struct hs_intern_key){ .lo = pid }, &number, &is_new);
            names->pids[i] = pid;
            pid = p->processes[i].pid + PID_STEP * step;
        }
    }
    hs_intern_deinit(&used);
    return err;
}

int hs_infra_names_init(struct hs_infra_names *names, const struct hs_profile *profile)
{
    *names = (struct hs_infra_names){
        .profile = profile,
        .heaps = calloc(profile->heap_count + 1u, sizeof(char *)),
        .pids = calloc(profile->process_count + 1u, sizeof(uint64_t)),
    };
    int err = names->heaps && names->pids ? find_heap_names(names) : -ENOMEM;
    return err ? err : find_pids(names);
}

void hs_infra_names_deinit(struct hs_infra_names *names)
{
    for (uint32_t i = 0; names->heaps && i < names->profile->heap_count; i++) {
        free(names->heaps[i]);
    }
    free(names->heaps);
    free(names->pids);
}

const char *hs_infra_heap_name(const struct hs_infra_names *names, uint32_t heap)
{
    return names->heaps[heap];
}

uint64_t hs_infra_pid(const struct hs_infra_names *names, uint32_t process)
{
    return names->pids[process];
}

static void write_event(struct hs_json *json, uint64_t pid, const char *name, const char *key,
                        const char *text)
{
    hs_json_open(json, '{');
    hs_json_kv_string(json, "ph", "M");
    hs_json_kv_uint(json, "pid", pid);
    hs_json_kv_uint(json, "tid", pid);
    hs_json_kv_uint(json, "ts", 0);
    hs_json_kv_string(json, "cat", "__metadata");
    hs_json_kv_string(json, "name", name);
    hs_json_key(json, "args");
    hs_json_open(json, '{');
    hs_json_kv_string(json, key, text);
    hs_json_close(json, '}');
    hs_json_close(json, '}');
}

void hs_infra_write_process(const struct hs_infra_names *names, uint32_t process,
                            struct hs_json *json)
{
    struct hs_buf text = HS_BUF_INIT;
    uint64_t pid = names->pids[process];
    hs_describe_process(names->profile, process, &text);
    if (text.bytes > 0) {
        write_event(json, pid, "process_name", "name", hs_buf_text(&text));
    }
    if (pid != names->profile->processes[process].pid) {
        hs_buf_clear(&text);
        hs_buf_printf(&text, "pid %u", names->profile->processes[process].pid);
        write_event(json, pid, "process_labels", "labels", hs_buf_text(&text));
    }
    hs_buf_deinit(&text);
}
