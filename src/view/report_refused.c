/* Processes that were selected but not profiled: which, why, and what to do. See report_parts.h. */
#include "profile/model/loss.h"
#include "util/json.h"
#include "view/report_parts.h"

#define REFUSED_LISTED 8

static bool is_refused(const struct hs_report *report, uint32_t process)
{
    return report->profile->processes[process].refusal != 0 &&
           report->selection.has_process[process];
}

static void write_one(struct hs_report *report, const struct hs_profile_process *process)
{
    const struct hs_profile *p = report->profile;
    const char *name = hs_profile_string(p, process->name);
    const char *text = hs_profile_string(p, process->refusal_text);
    const char *remedy = hs_profile_string(p, process->refusal_remedy);
    struct hs_buf line = HS_BUF_INIT;
    hs_buf_printf(&line, "PID %u (%s) was not profiled: %s%s%s", process->pid, name[0] ? name : "?",
                  text[0] ? text : hs_loss_refusal_reason(process->refusal), remedy[0] ? "; " : "",
                  remedy);
    hs_report_warn(report, hs_buf_text(&line), 0);
    hs_buf_deinit(&line);
}

bool hs_report_write_refused(struct hs_report *report)
{
    const struct hs_profile *p = report->profile;
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->process_count; i++) {
        if (is_refused(report, i) && count++ < REFUSED_LISTED) {
            write_one(report, &p->processes[i]);
        }
    }
    return count <= REFUSED_LISTED;
}

void hs_report_json_refused(struct hs_report *report, struct hs_json *json)
{
    const struct hs_profile *p = report->profile;
    hs_json_key(json, "not_profiled");
    hs_json_open(json, '[');
    for (uint32_t i = 0; i < p->process_count; i++) {
        const struct hs_profile_process *process = &p->processes[i];
        if (!is_refused(report, i)) {
            continue;
        }
        hs_json_open_inline(json, '{');
        hs_json_kv_uint(json, "pid", process->pid);
        hs_json_kv_string(json, "name", hs_profile_string(p, process->name));
        hs_json_kv_string(json, "reason", hs_loss_of_refusal(process->refusal).name);
        hs_json_kv_string(json, "text", hs_profile_string(p, process->refusal_text));
        hs_json_kv_string(json, "remedy", hs_profile_string(p, process->refusal_remedy));
        hs_json_close(json, '}');
    }
    hs_json_close(json, ']');
}
