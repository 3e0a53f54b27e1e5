/*
 * heapscope list: what is recorded, by daemons and by other commands, and at what cost.
 *
 * It asks every endpoint twice, a moment apart: the difference of the two answers is the cost.
 *
 * See       list_model.h, session/answers.h, docs/man/heapscope-list.1
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/daemon_client/ask_daemon.h"
#include "cli/daemon_client/list_model.h"
#include "cli/message.h"

#define HS_MOMENT_MS 100

/* The answer of one endpoint; NULL with -errno in *ret_result. */
static Hs__Ctl__Listed *ask(struct hs_endpoint *place, int *ret_result)
{
    Hs__Ctl__List request = HS__CTL__LIST__INIT;
    struct hs_ctl_message answer = { 0 };
    int r = hs_endpoint_ask(place, HS_CTL_LIST, &request.base, HS_PATIENCE_SHORT_MS, &answer);
    ProtobufCMessage *body = NULL;
    if (r == 0) {
        body = answer.kind == HS_CTL_LISTED ? hs_ctl_unpack(&answer, &hs__ctl__listed__descriptor)
                                            : NULL;
        r = body ? 0 : -EPROTO;
        hs_ctl_message_deinit(&answer);
    }
    *ret_result = r;
    return (Hs__Ctl__Listed *)(void *)body;
}

static void say_silent(const struct hs_endpoint *place, int error)
{
    if (place->is_daemon && error != -ENOENT && error != -ECONNREFUSED && error != -EACCES) {
        hs_message("the daemon at %s does not answer: %s", place->name, strerror(-error));
    } else if (!place->is_daemon && error == -ETIMEDOUT) {
        hs_message("process %d, which makes a recording, does not answer; is it stopped?",
                   (int)place->pid);
    }
}

/* Asks all endpoints. Returns the first error of a daemon's endpoint; 0: all daemons answered. */
static int ask_all(struct hs_endpoints *endpoints, struct hs_lists *lists)
{
    int first_error = 0;
    for (size_t i = 0; i < endpoints->count; i++) {
        int r;
        struct hs_list_model *listed = &lists->items[lists->count];
        listed->before = listed->now = ask(&endpoints->items[i], &r);
        listed->place = endpoints->items[i];
        if (listed->now) {
            lists->count++;
            lists->daemon_count += listed->place.is_daemon;
        } else {
            say_silent(&endpoints->items[i], r);
            first_error = endpoints->items[i].is_daemon && first_error == 0 ? r : first_error;
        }
    }
    return first_error;
}

static void ask_again(struct hs_lists *lists)
{
    poll(NULL, 0, HS_MOMENT_MS);
    for (size_t i = 0; i < lists->count; i++) {
        int r;
        struct hs_list_model *listed = &lists->items[i];
        Hs__Ctl__Listed *now = ask(&listed->place, &r);
        listed->now = now ? now : listed->now;
    }
}

static void forget(struct hs_lists *lists)
{
    for (size_t i = 0; i < lists->count; i++) {
        struct hs_list_model *listed = &lists->items[i];
        if (listed->now != listed->before) {
            hs__ctl__listed__free_unpacked(listed->now, NULL);
        }
        hs__ctl__listed__free_unpacked(listed->before, NULL);
    }
    free(lists->items);
}

static int list(bool is_json)
{
    static struct hs_endpoints endpoints;
    struct hs_lists lists = { 0 };
    struct hs_buf out = HS_BUF_INIT;
    int status = HS_EXIT_STATUS_DONE;
    if (hs_endpoints_find(true, &endpoints) < 0) {
        return hs_ask_say_bad_socket();
    }
    lists.items = calloc(endpoints.count, sizeof(lists.items[0]));
    if (!lists.items) {
        hs_message("out of memory");
        return HS_EXIT_STATUS_FAILED;
    }
    int error = ask_all(&endpoints, &lists);
    /* A daemon that was named must answer; without a daemon and recordings the list is empty. */
    if (lists.daemon_count == 0 && (lists.count == 0 || hs_endpoints_is_one_named())) {
        status = hs_ask_say_nobody(endpoints.items[0].name, error);
    } else {
        ask_again(&lists);
        if (is_json) {
            hs_list_json(&lists, &out);
        } else {
            hs_list_text(&lists, hs_args_columns(STDOUT_FILENO), &out);
        }
        fwrite(out.data, 1, out.bytes, stdout);
        status = hs_args_finish_output();
    }
    hs_buf_deinit(&out);
    forget(&lists);
    return status;
}

int hs_cmd_list(int argc, char **argv)
{
    bool is_json = false;
    const struct hs_opt options[] = { HS_OPT_FLAG(0, "json", &is_json, "print JSON") };
    const struct hs_opts_spec spec = {
        .command = "list",
        .summary = "show what is recorded, by which command, and at what cost",
        .operands_usage = "",
        .footer = "Lists daemons, their sessions and the programs that they can profile, and each\n"
                  "'heapscope run' and 'heapscope attach'. A user sees their own recordings; root\n"
                  "sees those of all users.",
        .options = options,
        .option_count = HS_COUNT_OF(options),
    };
    struct hs_opts_result args;
    int status = hs_args_parse(&spec, argc, argv, &args);
    return status == HS_ARGS_GO_ON ? list(is_json) : status;
}
