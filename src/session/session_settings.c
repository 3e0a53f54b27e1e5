/*
 * The settings of a session: see session.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/session.h"

bool hs_session_is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t bytes = strlen(name);
    return bytes > 0 && bytes <= HS_SESSION_NAME_MAX && strspn(name, allowed) == bytes &&
           name[0] != '-';
}

int hs_session_settings_add_pid(struct hs_session_settings *settings, pid_t pid)
{
    if (settings->pid_count == HS_SESSION_PIDS_MAX) {
        return -E2BIG;
    }
    pid_t *pids = realloc(settings->pids, (settings->pid_count + 1) * sizeof(pids[0]));
    if (!pids) {
        return -ENOMEM;
    }
    settings->pids = pids;
    settings->pids[settings->pid_count++] = pid;
    return 0;
}

static int add_text(char ***texts, size_t *count, const char *text)
{
    if (*count == HS_SESSION_NAMES_MAX) {
        return -E2BIG;
    }
    char **more = realloc(*texts, (*count + 1) * sizeof(more[0]));
    if (!more) {
        return -ENOMEM;
    }
    *texts = more;
    more[*count] = strdup(text);
    if (!more[*count]) {
        return -ENOMEM;
    }
    ++*count;
    return 0;
}

int hs_session_settings_add_name(struct hs_session_settings *settings, const char *name)
{
    return add_text(&settings->names, &settings->name_count, name);
}

int hs_session_settings_add_skipped(struct hs_session_settings *settings, const char *prefix)
{
    return add_text(&settings->skipped, &settings->skipped_count, prefix);
}

void hs_session_settings_deinit(struct hs_session_settings *settings)
{
    for (size_t i = 0; i < settings->name_count; i++) {
        free(settings->names[i]);
    }
    for (size_t i = 0; i < settings->skipped_count; i++) {
        free(settings->skipped[i]);
    }
    free(settings->names);
    free(settings->skipped);
    free(settings->pids);
    *settings = (struct hs_session_settings){ 0 };
}

const char *hs_session_settings_check(const struct hs_session_settings *settings)
{
    if (settings->interval_bytes == 0 || settings->interval_bytes > HS_INTERVAL_BYTES_MAX) {
        return "the interval must be at least 1 byte, and at most 1T";
    }
    if (settings->pid_count == 0 && settings->name_count == 0 && !settings->is_all &&
        !settings->is_taking_announced) {
        return "it names no process";
    }
    if (!settings->is_taking_startup && !settings->is_taking_running &&
        !settings->is_taking_announced) {
        return "it takes neither running processes nor those that start later";
    }
    if (settings->name[0] && !hs_session_is_name(settings->name)) {
        return "a session's name is at most 63 letters, digits, '.', '_' and '-'";
    }
    for (size_t i = 0; i < settings->pid_count; i++) {
        if (settings->pids[i] <= 0) {
            return "a process id must be above 0";
        }
    }
    for (size_t i = 0; i < settings->name_count; i++) {
        if (settings->names[i][0] == '\0') {
            return "the name of a process must not be empty";
        }
    }
    if (settings->limits.memory_bytes > 0 && settings->limits.memory_bytes < HS_BUDGET_MEMORY_MIN) {
        return "the memory budget must be at least 1M";
    }
    if (settings->limits.overhead_ppm > HS_BUDGET_OVERHEAD_MAX) {
        return "the overhead budget must be at most 100%";
    }
    if (settings->limits.cpu_ns > HS_BUDGET_CPU_MAX_NS) {
        return "the CPU budget must be at most a thousand days";
    }
    const char *wrong = hs_heap_selection_check(&settings->heaps);
    return wrong ? wrong : hs_dump_schedule_check(&settings->dumps);
}
