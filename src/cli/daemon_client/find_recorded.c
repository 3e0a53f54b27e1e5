/*
 * Asking all endpoints for candidates: see find_recorded.h.
 */
#include "cli/daemon_client/find_recorded.h"

#include <errno.h>
#include <inttypes.h>

#include "cli/cmd.h"
#include "cli/daemon_client/ask_daemon.h"
#include "cli/message.h"
#include "collect/inspect/eligibility.h"
#include "ctl/ctl.pb-c.h"
#include "util/buf.h"

struct finding {
    uint32_t pid;
    const char *name;
    struct hs_endpoint place; /* of the last candidate */
    uint32_t found_pid;
    uint64_t count;
    bool is_dormant, has_daemon;
    int daemon_error;         /* of the first daemon that did not answer */
    const char *daemon_path;  /* of that daemon */
    uint64_t silent_count;    /* collectors that do not answer */
    pid_t silent_pid;         /* the last of them */
    struct hs_buf candidates; /* one line for each */
};

static void take_answer(struct finding *f, const struct hs_endpoint *place,
                        const Hs__Ctl__Snapped *answer)
{
    f->is_dormant |= answer->is_dormant;
    f->count += answer->candidate_count;
    for (size_t i = 0; i < answer->n_candidates; i++) {
        const Hs__Ctl__Candidate *it = answer->candidates[i];
        f->place = *place;
        f->found_pid = it->pid;
        hs_buf_printf(&f->candidates, "\n  %u %s, by %s", it->pid, it->process ? it->process : "?",
                      it->session ? it->session : "?");
    }
    if (answer->candidate_count > answer->n_candidates) {
        hs_buf_str(&f->candidates, "\n  ...");
    }
}

static void ask(struct finding *f, struct hs_endpoint *place)
{
    Hs__Ctl__Snapshot request = HS__CTL__SNAPSHOT__INIT;
    struct hs_ctl_message message = { 0 };
    request.has_pid = f->pid != 0;
    request.pid = f->pid;
    request.name = (char *)(uintptr_t)f->name;
    request.has_is_query = request.is_query = true;
    int r = hs_endpoint_ask(place, HS_CTL_SNAPSHOT, &request.base, HS_PATIENCE_SHORT_MS, &message);
    if (r < 0) {
        if (place->is_daemon && f->daemon_error == 0) {
            f->daemon_error = r;
            f->daemon_path = place->name;
        }
        if (!place->is_daemon && r == -ETIMEDOUT) {
            f->silent_count++;
            f->silent_pid = place->pid;
        }
        return;
    }
    f->has_daemon |= place->is_daemon;
    ProtobufCMessage *body = message.kind == HS_CTL_SNAPPED
                                 ? hs_ctl_unpack(&message, &hs__ctl__snapped__descriptor)
                                 : NULL;
    if (body) {
        take_answer(f, place, (const Hs__Ctl__Snapped *)(const void *)body);
        protobuf_c_message_free_unpacked(body, NULL);
    }
    hs_ctl_message_deinit(&message);
}

/* Prints why no endpoint that answers has the process of this pid. */
static int say_pid_missing(const struct finding *f)
{
    struct hs_eligibility it;
    hs_eligibility_check((pid_t)f->pid, &it);
    if (f->is_dormant) {
        hs_message("no session records process %u\n"
                   "Begin one with 'heapscope start -p %u'.",
                   f->pid, f->pid);
    } else if (!it.exists) {
        hs_message("there is no process %u", f->pid);
    } else if (it.client.is_kept) {
        hs_message("process %u (%s) records without a session, and has found no daemon%s\n"
                   "%s once a second, when it allocates or calls libheapscope.",
                   f->pid, it.name, f->has_daemon ? " since this one started" : " yet",
                   f->has_daemon ? "Try again later: the process looks for the daemon at most"
                                 : "Start heapscoped; the process looks for it at most");
    } else if (it.client.state == HS_CLIENT_ACTIVE) {
        hs_message(
            "process %u (%s) is recorded by process %u, which heapscope cannot ask from here\n"
            "That process belongs to another user, or is in another network namespace (a "
            "container): run this command there, or as root.",
            f->pid, it.name, it.client.collector_pid);
    } else {
        hs_message("process %u (%s) is not recorded, and has not announced itself to a daemon\n"
                   "Record it with 'heapscope attach %u'; 'heapscope list' shows what is recorded.",
                   f->pid, it.name, f->pid);
    }
    return HS_EXIT_STATUS_FAILED;
}

static int say_none(const struct finding *f)
{
    if (f->silent_count > 0) {
        hs_message("process %d, which makes a recording, does not answer; is it stopped?",
                   (int)f->silent_pid);
    }
    if (f->pid != 0) {
        return say_pid_missing(f);
    }
    if (!f->has_daemon && hs_endpoints_is_one_named()) {
        return hs_ask_say_nobody(f->daemon_path, f->daemon_error);
    }
    if (f->name) {
        hs_message("no process named '%.200s' is recorded\n'heapscope list' shows those that are.",
                   f->name);
    } else {
        hs_message("no process is recorded\n"
                   "Begin with 'heapscope attach PID', 'heapscope run -- PROGRAM' or, with a "
                   "daemon, 'heapscope start'.\n"
                   "A recording in another network namespace (a container) is visible only there.");
    }
    return HS_EXIT_STATUS_FAILED;
}

int hs_recorded_find(uint32_t pid, const char *name, struct hs_endpoint *ret_place,
                     uint32_t *ret_pid)
{
    static struct hs_endpoints endpoints;
    struct finding f = { .pid = pid, .name = name };
    int status = HS_EXIT_STATUS_DONE;
    if (hs_endpoints_find(pid != 0 || !hs_endpoints_is_one_named(), &endpoints) < 0) {
        return hs_ask_say_bad_socket();
    }
    for (size_t i = 0; i < endpoints.count; i++) {
        ask(&f, &endpoints.items[i]);
    }
    if (f.count == 0) {
        status = say_none(&f);
    } else if (f.count > 1) {
        hs_message("%" PRIu64 " processes are recorded; name one with -p PID:%s", f.count,
                   hs_buf_text(&f.candidates));
        status = HS_EXIT_STATUS_FAILED;
    } else {
        *ret_place = f.place;
        *ret_pid = f.found_pid;
    }
    hs_buf_deinit(&f.candidates);
    return status;
}
