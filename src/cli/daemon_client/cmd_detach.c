/*
 * heapscope detach: detaches from a process when the command that attached to it could not.
 *
 * See       collect/attach/attachment.h, docs/man/heapscope-detach.1
 */
#include <limits.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "collect/attach/attachment.h"
#include "util/parse.h"

#define HS_PATIENCE_NS UINT64_C(10000000000)

static int detach(pid_t pid)
{
    struct hs_attachment it;
    if (!hs_attachment_end(pid, HS_PATIENCE_NS, &it)) {
        hs_message("cannot detach from %d: %s", (int)pid, it.words);
        return HS_EXIT_STATUS_FAILED;
    }
    hs_message_info("detached from %d", (int)pid);
    return HS_EXIT_STATUS_DONE;
}

int hs_cmd_detach(int argc, char **argv)
{
    const struct hs_opts_spec spec = {
        .command = "detach",
        .summary = "detach from processes whose 'attach' was killed",
        .operands_usage = "PID...",
        .footer = "'heapscope attach' detaches by itself when it ends. Use this command if it was\n"
                  "killed: what it had recorded is then lost, and its library is still loaded.",
        .operands_min = 1,
        .operands_max = HS_OPERANDS_ANY,
        .operand_missing = "no process was named",
    };
    struct hs_opts_result args;
    int status = hs_args_parse(&spec, argc, argv, &args);
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    status = HS_EXIT_STATUS_DONE;
    for (size_t i = 0; i < args.operand_count; i++) {
        uint64_t pid;
        if (hs_parse_number(args.operands[i], &pid) < 0 || pid == 0 || pid > INT_MAX) {
            return hs_args_fail(&spec, "'%s' is not a process id", args.operands[i]);
        }
        int one = detach((pid_t)pid);
        status = one == HS_EXIT_STATUS_DONE ? status : one;
    }
    return status;
}
