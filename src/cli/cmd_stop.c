/*
 * heapscope stop: ends a session of the daemon, and waits until its file is whole.
 *
 * See       daemon/requests.c, docs/man/heapscope-stop.1
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "cli/args.h"
#include "cli/ask_daemon.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "ctl/ctl.pb-c.h"
#include "util/human.h"

static int say_stopped(const Hs__Ctl__Stopped *stopped)
{
    char size[HS_HUMAN_BYTES];
    const char *path = stopped->path ? stopped->path : "?";
    const char *session = stopped->session ? stopped->session : "?";
    if (stopped->error) {
        hs_message("session %s is over, and %s was not written: %s", session, path, stopped->error);
        return HS_EXIT_STATUS_FAILED;
    }
    if (stopped->process_count == 0) {
        hs_message("session %s recorded no process%s", session,
                   stopped->rejected_count ? ": those that it means could not be had" : "");
    }
    if (stopped->note) {
        hs_message("%s", stopped->note);
    } else if (stopped->rejected_count > 0) {
        hs_message("%" PRIu64 " process%s could not be profiled; the report says why",
                   stopped->rejected_count, stopped->rejected_count == 1 ? "" : "es");
    }
    hs_message_info("session %s: %" PRIu64 " process%s, %" PRIu64 " dump%s, %s\n"
                    "Next: heapscope report %s",
                    session, stopped->process_count, stopped->process_count == 1 ? "" : "es",
                    stopped->dump_count, stopped->dump_count == 1 ? "" : "s",
                    hs_human_bytes(size, (double)stopped->file_bytes), path);
    puts(path);
    return hs_args_finish_output();
}

int hs_cmd_stop(int argc, char **argv)
{
    bool is_quiet = false;
    const struct hs_opt options[] = {
        HS_OPT_FLAG('q', "quiet", &is_quiet, "print nothing but the file's name, and errors"),
    };
    const struct hs_opts_spec spec = {
        .command = "stop",
        .summary = "end a session, and wait until its file is whole",
        .operands_usage = "[SESSION]",
        .footer = "SESSION may be left out when there is just one. Prints the file's name.",
        .options = options,
        .option_count = HS_COUNT_OF(options),
        .operands_max = 1,
    };
    struct hs_opts_result args;
    int status = hs_args_parse(&spec, argc, argv, &args);
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    hs_message_set_quiet(is_quiet);
    Hs__Ctl__Stop request = HS__CTL__STOP__INIT;
    struct hs_ctl_message answer = { 0 };
    request.session = args.operand_count > 0 ? args.operands[0] : NULL;
    if (!is_quiet) {
        hs_progress_expect(HS_PROGRESS_NAMING);
    }
    status = hs_ask_daemon(HS_CTL_STOP, &request.base, NULL, 0, HS_ASK_FOREVER, &answer);
    hs_progress_over();
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    ProtobufCMessage *body = hs_ctl_unpack(&answer, &hs__ctl__stopped__descriptor);
    status = HS_EXIT_STATUS_FAILED;
    if (body) {
        status = say_stopped((const Hs__Ctl__Stopped *)(const void *)body);
        protobuf_c_message_free_unpacked(body, NULL);
    }
    hs_ctl_message_deinit(&answer);
    return status;
}
