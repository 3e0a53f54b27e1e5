/*
 * heapscope doctor: why would a profile be empty, or lack frames or names?
 *
 * See       doctor.h, docs/man/heapscope-doctor.1
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/doctor/doctor.h"
#include "cli/message.h"
#include "util/buf.h"
#include "util/parse.h"

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

static int write_findings(const struct hs_findings *findings, bool is_json)
{
    struct hs_buf out = HS_BUF_INIT;
    if (is_json) {
        hs_findings_write_json(findings, &out);
    } else {
        bool is_terminal = isatty(STDOUT_FILENO) == 1;
        hs_findings_write_text(findings, is_terminal ? hs_args_columns(STDOUT_FILENO) : 0,
                               hs_args_has_colour(STDOUT_FILENO), &out);
    }
    int err = findings->err ? findings->err : out.err;
    if (err == 0) {
        fwrite(out.data, 1, out.bytes, stdout);
    }
    hs_buf_deinit(&out);
    if (err < 0) {
        hs_message("%s", strerror(-err));
        return HS_EXIT_STATUS_FAILED;
    }
    return hs_args_finish_output();
}

static int examine(const struct hs_opts_spec *spec, const char *operand, const char *policy,
                   struct hs_findings *findings)
{
    uint64_t pid;
    if (!operand) {
        if (!policy) {
            hs_doctor_machine(findings);
        }
        hs_doctor_policy(policy, findings);
    } else if (!is_number(operand) && policy) {
        return hs_args_fail(spec, "--policy needs a PID, or no argument");
    } else if (!is_number(operand)) {
        hs_doctor_program(operand, findings);
    } else if (hs_parse_number(operand, &pid) < 0 || pid == 0 || pid > INT_MAX) {
        return hs_args_fail(spec, "'%s' is not a process id", operand);
    } else {
        hs_doctor_process((pid_t)pid, policy, findings);
    }
    return HS_ARGS_GO_ON;
}

int hs_cmd_doctor(int argc, char **argv)
{
    bool is_json = false;
    const char *policy = NULL;
    const struct hs_opt options[] = {
        HS_OPT_STRING(0, "policy", "FILE", &policy,
                      "the daemon's policy (default /etc/heapscope/policy.conf); without PID:\n"
                      "only check that the daemon can use it"),
        HS_OPT_FLAG(0, "json", &is_json,
                    "print JSON: a list of objects with check, state, detail and remedy"),
    };
    const struct hs_opts_spec spec = {
        .command = "doctor",
        .summary = "find out why a profile would be empty, or lack frames or names",
        .operands_usage = "[PID | PROGRAM]",
        .footer = "Without PID and PROGRAM, doctor checks this machine and the installation.\n"
                  "Exit status: 0 no problem was found, 1 there is a problem.",
        .options = options,
        .option_count = sizeof(options) / sizeof(options[0]),
        .operands_max = 1,
    };
    struct hs_opts_result args;
    struct hs_findings findings = { 0 };
    int status = hs_args_parse(&spec, argc, argv, &args);
    if (status == HS_ARGS_GO_ON) {
        status =
            examine(&spec, args.operand_count > 0 ? args.operands[0] : NULL, policy, &findings);
    }
    if (status == HS_ARGS_GO_ON) {
        status = write_findings(&findings, is_json);
        bool has_problem = hs_findings_count(&findings, HS_FINDING_PROBLEM) > 0;
        status = status == HS_EXIT_STATUS_DONE && has_problem ? HS_EXIT_STATUS_FAILED : status;
    }
    hs_findings_deinit(&findings);
    return status;
}
