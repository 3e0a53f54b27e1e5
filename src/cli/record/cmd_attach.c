/*
 * heapscope attach: profile processes that run already, for a while.
 *
 * No daemon is needed: this command is the collector while it runs. It works in an order in which
 * it can report every foreseeable error before it touches a process: options, heapscope's library,
 * the processes that are meant and whether it may and can attach to them, the output file. Then it
 * attaches to each process. One thread of each is stopped for about a millisecond; all others run
 * on. At the end it releases their calls.
 *
 * See       collect/attach/attachment.h, session/hub.h, docs/man/heapscope-attach.1
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/daemon_client/detach_list.h"
#include "cli/end_signals.h"
#include "cli/message.h"
#include "cli/record/attach_options.h"
#include "cli/record/own_session.h"
#include "collect/attach/attachment.h"
#include "collect/inspect/eligibility.h"
#include "rt/clock.h"
#include "session/admission.h"
#include "session/hub.h"
#include "util/fd_limit.h"
#include "util/shell_word.h"

#define STARTING_MAX_NS        UINT64_C(1000000000)
#define HS_PATIENCE_NS         UINT64_C(10000000000)
#define HS_PATIENCE_REFRESH_NS UINT64_C(50000000)

struct attach {
    struct hs_attach_options options;
    char client_path[PATH_MAX];
    char default_path[160];
    const struct hs_run_head *head;
    struct hs_own_session own;
    struct hs_listener listener;
    struct hs_hub *hub;
    bool is_over;
    bool is_leaving; /* interrupted: no further process is attached to */
    size_t meant_count, attached_count, unsaid_count;
    struct hs_detach_list to_detach; /* to detach from at the end */
};

/* --- before anything is touched --------------------------------------------------------------- */

/* Its file is heapscope.NAME.PID.pftrace of the first process, or of the first name. */
static void name_session(struct attach *a)
{
    char name[64];
    struct hs_process_facts facts;
    a->own =
        (struct hs_own_session){ .command = "attach",
                                 .path = a->options.output ? a->options.output : a->default_path,
                                 .head = a->head,
                                 .lost = "the profile is lost",
                                 .stack_count = (uint32_t)a->options.stack_count,
                                 .is_quiet = a->options.is_quiet,
                                 .can_stop = true,
                                 .file = HS_OWN_SESSION_NO_FILE };
    if (a->options.settings.pid_count > 0) {
        pid_t pid = a->options.settings.pids[0];
        snprintf(name, sizeof(name), "process");
        if (hs_process_facts_read(pid, &facts) == 0) {
            hs_match_display(&facts.facts, name, sizeof(name));
        }
        snprintf(a->default_path, sizeof(a->default_path), "heapscope.%s.%d.pftrace", name,
                 (int)pid);
    } else {
        const char *base = strrchr(a->options.settings.names[0], '/');
        snprintf(name, sizeof(name), "%s", base ? base + 1 : a->options.settings.names[0]);
        snprintf(a->default_path, sizeof(a->default_path), "heapscope.%s.pftrace", name);
    }
    hs_shell_escape(a->default_path); /* a process may choose any name */
}

/* Gives a program that was only just executed a moment to load its libraries. */
static void look_when_started(pid_t pid, struct hs_eligibility *ret_it)
{
    const struct timespec pause = { .tv_nsec = 2000000 };
    uint64_t end_ns = hs_clock_ns(CLOCK_MONOTONIC) + STARTING_MAX_NS;
    hs_eligibility_check(pid, ret_it);
    while (ret_it->verdict == HS_INELIGIBLE_STARTING && hs_clock_ns(CLOCK_MONOTONIC) < end_ns) {
        nanosleep(&pause, NULL);
        hs_eligibility_check(pid, ret_it);
    }
}

static bool check_one(pid_t pid)
{
    struct hs_eligibility it;
    struct hs_eligibility_words words;
    look_when_started(pid, &it);
    if (it.verdict <= HS_ELIGIBLE_FOR_DAEMON || it.verdict == HS_INELIGIBLE_RECORDING) {
        return true;
    }
    hs_eligibility_words(&it, &words);
    hs_message("%s%s%s", words.what, words.remedy[0] ? "\n" : "", words.remedy);
    return false;
}

/* Prints which processes that were named by pid cannot be attached to, and why, and removes them
 * from the list of pids; the others are recorded. False: no process is left. Processes that are
 * meant by name are reported one by one, later. */
static bool check_pids(struct hs_session_settings *settings)
{
    size_t kept_count = 0;
    for (size_t i = 0; i < settings->pid_count; i++) {
        if (check_one(settings->pids[i])) {
            settings->pids[kept_count++] = settings->pids[i];
        }
    }
    bool is_any = kept_count > 0 || settings->pid_count == 0 || settings->name_count > 0;
    settings->pid_count = kept_count;
    return is_any;
}

/* --- attaching -------------------------------------------------------------------------------- */

static void say_attached(const struct hs_process_facts *process, const struct hs_attachment *it)
{
    char name[64];
    hs_match_display(&process->facts, name, sizeof(name));
    hs_message_info("attached to %d (%s): one thread was stopped for %.1f ms%s",
                    (int)process->facts.pid, name, (double)it->stopped_ns / 1e6,
                    it->was_preloaded ? "; heapscope's library was already loaded" : "");
    if (it->entry_count > 0) {
        hs_message_info("%u functions of its embedded allocator are redirected; for that, all its "
                        "threads (%u) were stopped for %.1f ms",
                        it->entry_count, it->thread_count, (double)it->all_stopped_ns / 1e6);
    }
    if (it->left_count > 0) {
        bool is_one = it->left_count == 1;
        hs_message_info("%u pointer%s to malloc and similar functions %s to another allocator, or "
                        "cannot be changed; calls through %s are not recorded",
                        it->left_count, is_one ? "" : "s", is_one ? "leads" : "lead",
                        is_one ? "it" : "them");
    }
}

static int bring_in(void *ctx, struct hs_session *session, const struct hs_process_facts *process)
{
    struct attach *a = ctx;
    pid_t pid = process->facts.pid;
    struct hs_attachment it;
    if (pid == getpid()) {
        return -EPERM;
    }
    if (hs_detach_list_has(&a->to_detach, pid)) {
        hs_message_info("process %d executed another program%s", (int)pid,
                        a->options.is_following ? "" : ", which is not recorded");
        if (!a->options.is_following) {
            return -EPERM;
        }
    }
    a->meant_count++;
    if (a->is_leaving || hs_end_signals_read() != HS_END_NONE) {
        a->is_leaving = true;
        return -EINTR;
    }
    const struct hs_attachment_request request = {
        .pid = pid,
        .client_path = a->client_path,
        .interval_bytes = session->settings.interval_bytes,
        .heaps = &session->settings.heaps,
        .own_pid = getpid(),
        .allocator = a->options.allocator,
        .collector = a->listener.name,
        .is_following = a->options.is_following,
        .patience_ns = HS_PATIENCE_NS,
    };
    if (!hs_attachment_begin(&request, &it)) {
        /* Of all processes, many cannot be recorded: one message gives their number. */
        if (session->settings.is_all) {
            a->unsaid_count++;
        } else {
            hs_message("cannot attach to %d: %s", (int)pid, it.words);
        }
        hs_hub_refuse(a->hub, pid, it.is_held, it.words, hs_clock_ns(CLOCK_MONOTONIC));
        return -EPERM;
    }
    hs_detach_list_add(&a->to_detach, pid);
    int r = hs_hub_take_client(a->hub, &it.pending, hs_clock_ns(CLOCK_MONOTONIC));
    if (r < 0) {
        hs_message("cannot read what process %d records: %s", (int)pid, strerror(-r));
        return r;
    }
    a->attached_count++;
    say_attached(process, &it);
    return 0;
}

/* The kernel checks heapscope's rights; this checks whether the process has opted out. */
static enum hs_refusal authorize(void *ctx, const struct hs_session *session,
                                 const struct hs_process_facts *process, struct hs_target *target,
                                 struct hs_refusal_words *ret_words)
{
    const struct hs_admission_asker asker = { .is_any_uid = true };
    const struct hs_admission_process what = { .pid = process->facts.pid,
                                               .uid = process->facts.uid,
                                               .is_attaching = target == NULL };
    (void)ctx;
    (void)session;
    return hs_admission_check(NULL, "/proc", &asker, &what, ret_words);
}

/* When the process has no safe point in time, the hub asks again later; others need not wait. */
static int refresh(void *ctx, struct hs_session *session, pid_t pid)
{
    struct hs_attachment it;
    (void)ctx;
    (void)session;
    return hs_attachment_refresh(pid, HS_PATIENCE_REFRESH_NS, &it) ? 0 : -EAGAIN;
}

static void say_verdict(void *ctx, const struct hs_hub_verdict *verdict)
{
    struct attach *a = ctx;
    if (verdict->answer == HS_HUB_GONE) {
        a->meant_count++;
        hs_message("there is no process %d", (int)verdict->process->facts.pid);
    } else if (verdict->answer == HS_HUB_NOT_ALLOWED && verdict->words) {
        a->meant_count++;
        if (a->own.session->settings.is_all) {
            a->unsaid_count++;
            return;
        }
        hs_message("cannot attach to %d: %s; %s", (int)verdict->process->facts.pid,
                   verdict->words->what, verdict->words->remedy);
    }
}

/* --- while it lasts --------------------------------------------------------------------------- */

static void on_over(void *ctx, struct hs_session *session)
{
    struct attach *a = ctx;
    (void)session;
    a->is_over = true;
}

static void end_early(struct attach *a)
{
    hs_detach_list_add_children(&a->to_detach, &a->hub->registry);
    hs_hub_stop(a->hub, a->own.session, hs_clock_ns(CLOCK_MONOTONIC));
}

static void take_signals(struct attach *a)
{
    enum hs_end_request asked = hs_end_signals_read();
    if (hs_end_signals_take_dump()) {
        hs_hub_dump_all(a->hub, hs_clock_ns(CLOCK_MONOTONIC));
    }
    if (asked != HS_END_NONE && !a->is_over) {
        end_early(a);
    }
}

static void record(struct attach *a, int signal_fd)
{
    while (!a->is_over) {
        uint64_t now = hs_clock_ns(CLOCK_MONOTONIC);
        hs_detach_list_add_children(&a->to_detach, &a->hub->registry);
        uint64_t until = hs_hub_turn(a->hub, now);
        uint64_t turn_ns = hs_own_session_turn(&a->own, now);
        until = turn_ns < until ? turn_ns : until;
        if (a->own.server.is_stop_asked && !a->is_over) {
            end_early(a);
        }
        if (!a->is_over) {
            take_signals(a);
        }
        if (a->is_over) {
            break;
        }
        struct pollfd fds[] = { { .fd = hs_hub_fd(a->hub), .events = POLLIN },
                                { .fd = signal_fd, .events = POLLIN } };
        uint64_t wait_ns = until > now ? until - now : 0;
        const struct timespec timeout = hs_clock_timespec(wait_ns);
        ppoll(fds, 2, until == UINT64_MAX ? NULL : &timeout, NULL);
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

static void on_peer(void *ctx, int connection_fd)
{
    struct attach *a = ctx;
    hs_own_session_take_peer(&a->own, connection_fd);
}

static int open_hub(struct attach *a)
{
    a->listener.fd = -1;
    int r = hs_listener_open(&a->listener);
    const struct hs_hub_config config = { .listener = a->listener,
                                          .on_peer = on_peer,
                                          .on_over = on_over,
                                          .attach = bring_in,
                                          .authorize = authorize,
                                          .refresh = refresh,
                                          .say_new_process = say_verdict,
                                          .ctx = a };
    return r < 0 ? r : hs_hub_new(&config, &a->hub);
}

static int open_all(struct attach *a)
{
    int r = hs_own_session_open_file(&a->own);
    if (r < 0) {
        hs_message("cannot write %s: %s; heapscope attached to no process", a->own.path,
                   strerror(-r));
        return r;
    }
    hs_fd_limit_raise();
    r = open_hub(a);
    r = r < 0 ? r : hs_own_session_begin(&a->own, &a->options.settings);
    if (r < 0) {
        hs_message("cannot begin: %s", strerror(-r));
    } else {
        hs_own_session_serve(&a->own, &a->hub->registry);
    }
    return r;
}

static int start(struct attach *a)
{
    a->own.session->settings.is_attaching_started = a->head != NULL;
    int r = hs_hub_start(a->hub, a->own.session, hs_clock_ns(CLOCK_MONOTONIC), say_verdict, a);
    bool is_waiting = a->hub->watch != NULL;
    if (r < 0) {
        hs_message("cannot begin: %s", strerror(-r));
        return r;
    }
    if (a->unsaid_count > 0) {
        hs_message_info("%zu more processes cannot be recorded; the report says why",
                        a->unsaid_count);
    }
    if (a->attached_count == 0 && (a->is_leaving || !is_waiting)) {
        if (a->is_leaving) {
            hs_message("interrupted: heapscope attached to no process");
        } else if (a->meant_count == 0) {
            const char *name = a->own.session->settings.names[0];
            hs_message("no running process is called %s; 'heapscope record -n %s' also records "
                       "processes that start later",
                       name, name);
        }
        hs_hub_stop(a->hub, a->own.session, hs_clock_ns(CLOCK_MONOTONIC));
        return -ESRCH;
    }
    if (!a->is_over && a->own.session->settings.duration_ns == 0) {
        hs_message_info("recording until Ctrl-C%s", is_waiting ? ""
                                                    : a->attached_count == 1
                                                        ? ", or until it ends"
                                                        : ", or until they end");
    }
    if (a->head && a->head->on_active) {
        a->head->on_active();
    }
    return 0;
}

static int finish(struct attach *a)
{
    return hs_own_session_finish(&a->own) < 0 ? HS_EXIT_STATUS_FAILED : HS_EXIT_STATUS_DONE;
}

static int profile(struct attach *a)
{
    int signal_fd = hs_end_signals_open();
    int status = HS_EXIT_STATUS_FAILED;
    int r = open_all(a);
    r = r < 0 ? r : start(a);
    if (r == 0) {
        record(a, signal_fd);
        a->hub = hs_hub_free(a->hub); /* no request is answered while names are looked up */
        hs_detach_list_detach(&a->to_detach);
        status = finish(a);
    } else {
        hs_detach_list_detach(&a->to_detach);
        if (r == -ESRCH && a->head && a->own.session->rejected_count > 0 && !a->is_leaving) {
            finish(a); /* the trace has the reasons */
        }
    }
    return status;
}

static void take_head(struct attach *a)
{
    struct hs_session_settings *settings = &a->options.settings;
    hs_own_session_take_head(settings, a->head);
    if (a->head && a->head->scope) {
        settings->is_all = a->head->scope->is_all;
        settings->is_taking_running = a->head->scope->is_taking_running;
        settings->is_taking_startup = a->head->scope->is_taking_startup;
        settings->min_anon_bytes = a->head->scope->min_anon_bytes;
    }
}

int hs_cmd_attach(int argc, char **argv)
{
    return hs_cmd_attach_headed(argc, argv, NULL);
}

int hs_cmd_attach_headed(int argc, char **argv, const struct hs_run_head *head)
{
    struct attach a = { .head = head, .own.file = HS_OWN_SESSION_NO_FILE };
    int status = hs_attach_options_parse(argc, argv, &a.options);
    if (status == HS_ARGS_GO_ON) {
        take_head(&a);
        if (hs_own_session_find_client(a.client_path, sizeof(a.client_path)) < 0 ||
            !check_pids(&a.options.settings)) {
            status = HS_EXIT_STATUS_FAILED;
        } else {
            name_session(&a);
            status = profile(&a);
        }
    }
    hs_own_session_close(&a.own, "the recording could not begin");
    hs_hub_free(a.hub);
    hs_session_settings_deinit(&a.options.settings);
    hs_detach_list_deinit(&a.to_detach);
    return status;
}
