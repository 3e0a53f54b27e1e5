/*
 * Children that existed before the recording of their parent began. Sessions that ask for children
 * get them, and their children, too. See session.h, is_taking_children.
 *
 * A process can fork and execute other programs before it is recorded. Afterwards /proc shows only
 * who the parent of a process is. So the hub looks once for the children of each process that a
 * session records. Children that are forked later announce themselves, with their parent. Before
 * the hub attaches to a child, it adds the child to the session's pids, as if the user had named
 * it.
 *
 * Holds     the hub looks once for the children of a process; a session has at most
 *           HS_SESSION_PIDS_MAX pids.
 * Threads   as the hub.
 * Fails     a child that cannot be attached to is reported like any other process; its children are
 *           not taken.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "collect/inspect/loaded_runtimes.h"
#include "rt/check.h"
#include "session/hub_targets.h"
#include "util/array.h"
#include "util/buf.h"

struct kinship {
    pid_t pid, parent;
};

struct kin {
    struct kinship *items;
    size_t count, capacity;
};

static bool is_due(const struct hs_target *target)
{
    const struct hs_session *session = target->session.owner;
    return session && session->settings.is_taking_children && !target->process.has_ended &&
           !target->session.are_children_taken;
}

static bool is_any_due(const struct hs_hub *hub)
{
    for (size_t i = 0; i < hub->registry.target_count; i++) {
        if (is_due(hub->registry.targets[i])) {
            return true;
        }
    }
    return false;
}

/* Lists all processes of this moment with their parents, as many as there is memory for. */
static void find_kin(struct kin *ret_kin)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    *ret_kin = (struct kin){ 0 };
    while (proc && (entry = readdir(proc)) != NULL) {
        struct hs_proc_stat stat;
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (pid <= 0 || pid > INT32_MAX || *end != '\0' ||
            hs_proc_read_stat((pid_t)pid, &stat) < 0 || stat.state == 'Z') {
            continue;
        }
        if (hs_array_reserve(&ret_kin->items, &ret_kin->capacity, ret_kin->count + 1,
                             sizeof(ret_kin->items[0])) < 0) {
            break;
        }
        ret_kin->items[ret_kin->count++] = (struct kinship){ (pid_t)pid, (pid_t)stat.ppid };
    }
    if (proc) {
        closedir(proc);
    }
}

/* Does the process have a client? Then it was forked while its parent was recorded, and announces
 * itself. */
static bool has_client(pid_t pid)
{
    char folder[32];
    struct hs_loaded_runtimes runtimes = { 0 };
    struct hs_buf maps = HS_BUF_INIT;
    snprintf(folder, sizeof(folder), "/proc/%d", (int)pid);
    if (hs_proc_read_whole(folder, "maps", &maps) == 0) {
        hs_loaded_runtimes_find(hs_buf_text(&maps), maps.bytes, &runtimes);
    }
    hs_buf_deinit(&maps);
    return runtimes.has_client;
}

static void take_children_of(struct hs_hub *hub, struct hs_session *session, pid_t parent,
                             const struct kin *kin, uint64_t now_ns)
{
    for (size_t i = 0; i < kin->count; i++) {
        pid_t pid = kin->items[i].pid;
        if (kin->items[i].parent != parent || hs_session_names(session, pid) ||
            hs_pid_list_has(&session->seen, pid) || hs_pid_list_has(&session->expected, pid) ||
            (!hs_registry_find(&hub->registry, pid) && has_client(pid))) {
            continue;
        }
        if (hs_session_settings_add_pid(&session->settings, pid) < 0) {
            return;
        }
        HS_ASSERT(session->settings.pid_count <= HS_SESSION_PIDS_MAX);
        hs_hub_take_pid(hub, session, pid, now_ns);
    }
}

bool hs_hub_take_children(struct hs_hub *hub, uint64_t now_ns)
{
    struct kin kin;
    if (!is_any_due(hub)) {
        return false;
    }
    find_kin(&kin);
    /* The list of targets grows as children are taken. New ones are at its end, or come in the next
     * turn. */
    for (size_t i = 0; i < hub->registry.target_count; i++) {
        struct hs_target *target = hub->registry.targets[i];
        if (is_due(target)) {
            target->session.are_children_taken = true;
            take_children_of(hub, target->session.owner, target->process.pid, &kin, now_ns);
        }
    }
    free(kin.items);
    return true;
}
