/*
 * What the head of a dump in our own packets says of its process. See load_state.h.
 */
#include "profile/read/load_state.h"
#include "trace/snapshot.h"

uint8_t hs_load_refusal_of(const Hs__Pb__HsDump *dump)
{
    if (dump->refusal == HS_REFUSAL_NONE) {
        return dump->is_rejected ? HS_REFUSAL_CONCURRENT : HS_REFUSAL_NONE;
    }
    return dump->refusal < HS_REFUSAL_N ? (uint8_t)dump->refusal : HS_REFUSAL_N;
}

void hs_load_process_update(struct hs_load *load, uint32_t process, const Hs__Pb__HsDump *dump)
{
    /* Strings come first. Adding them does not move the processes today, but this code does not
     * rely on it. */
    uint32_t comm = dump->comm ? hs_builder_string(load->builder, dump->comm) : 0;
    uint32_t exe = dump->exe ? hs_builder_string(load->builder, dump->exe) : 0;
    uint32_t malloc_path =
        dump->malloc_path ? hs_builder_string(load->builder, dump->malloc_path) : 0;
    uint32_t why = dump->refusal_text ? hs_builder_string(load->builder, dump->refusal_text) : 0;
    uint32_t remedy =
        dump->refusal_remedy ? hs_builder_string(load->builder, dump->refusal_remedy) : 0;
    uint32_t name = comm ? comm : hs_load_basename(load, exe);
    struct hs_profile_process *out = hs_builder_process_at(load->builder, process);
    if (!out) {
        return;
    }
    out->name = name ? name : out->name;
    /* Forked children may set titles of their own. */
    const struct hs_load_pid *pid = dump->forked_from_pid ? hs_load_pid(load, dump->pid) : NULL;
    out->cmdline = pid && pid->cmdline && !pid->is_comm ? pid->cmdline : out->cmdline;
    out->exe = exe ? exe : out->exe;
    out->malloc_path = malloc_path ? malloc_path : out->malloc_path;
    out->has_own_malloc = dump->has_own_malloc;
    out->is_without_malloc = dump->is_without_malloc;
    out->refusal = hs_load_refusal_of(dump);
    out->refusal_text = why;
    out->refusal_remedy = remedy;
    if (dump->exit_kind <= HS_EXIT_EXECUTED) {
        out->exit_kind = (uint8_t)dump->exit_kind;
        out->exit_value = dump->exit_value;
        out->is_oom_killed = dump->is_oom_killed;
    }
    out->end_ns = dump->is_final && dump->exit_kind != HS_EXIT_RUNNING ? dump->time_ns : 0;
}
