/*
 * What recording costs now: see list_model.h.
 *
 * The client records inside the process, and does not measure its own time: reading a clock would
 * cost as much as a sample. So the cost is estimated from the number of samples that the process
 * took in the meantime, and from how many of their stacks had to be walked. A rare sample misses
 * the processor's caches for heapscope's code and tables, and costs a microsecond; when samples are
 * frequent, code and tables stay in the caches, and a sample costs some ten nanoseconds
 * (docs/PERFORMANCE.md, "What list says").
 */
#include <string.h>

#include "cli/daemon_client/list_model.h"

#define HS_COLD_NS 1000.0
#define HS_WARM_NS 30.0
#define HS_WARM_RATE                                                                               \
    3e5 /* samples in a second of CPU time at which half of the cache misses are gone */
#define HS_WALK_NS 300.0

static double seconds_between(const struct hs_list_model *listed)
{
    const Hs__Ctl__Listed *before = listed->before, *now = listed->now;
    return now->mono_ns > before->mono_ns ? (double)(now->mono_ns - before->mono_ns) / 1e9 : 0;
}

/* Counters grow; a counter that does not belongs to another process. */
static double growth(uint64_t before, uint64_t now)
{
    return now > before ? (double)(now - before) : 0;
}

void hs_cost_of_endpoint(const struct hs_list_model *listed, struct hs_cost *ret_cost)
{
    double seconds = seconds_between(listed);
    *ret_cost = (struct hs_cost){ .is_known = seconds > 0 };
    if (seconds > 0) {
        ret_cost->cpu_share = growth(listed->before->cpu_ns, listed->now->cpu_ns) / 1e9 / seconds;
    }
}

static const Hs__Ctl__Client *find_before(const struct hs_list_model *listed,
                                          const Hs__Ctl__Client *client)
{
    for (size_t i = 0; i < listed->before->n_clients; i++) {
        const Hs__Ctl__Client *it = listed->before->clients[i];
        if (it->pid == client->pid && it->start_real_ns == client->start_real_ns && it->session) {
            return it;
        }
    }
    return NULL;
}

void hs_cost_of_client(const struct hs_list_model *listed, size_t idx, struct hs_cost *ret_cost)
{
    const Hs__Ctl__Client *client = listed->now->clients[idx];
    const Hs__Ctl__Client *before = find_before(listed, client);
    double seconds = seconds_between(listed);
    *ret_cost = (struct hs_cost){ .is_known = false };
    if (!before || !client->session || seconds <= 0) {
        return;
    }
    ret_cost->is_known = true;
    double samples = growth(before->sample_count, client->sample_count);
    double walks = growth(before->walk_count, client->walk_count);
    double cpu_ns = growth(before->cpu_ns, client->cpu_ns);
    double rate = cpu_ns > 0 ? samples / cpu_ns * 1e9 : 0;
    double sample_ns = HS_WARM_NS + HS_COLD_NS / (1 + rate / HS_WARM_RATE);
    double cost_ns = samples * sample_ns + walks * HS_WALK_NS;
    ret_cost->samples_a_second = samples / seconds;
    ret_cost->cpu_share = cpu_ns / 1e9 / seconds;
    if (cpu_ns > 0) {
        ret_cost->overhead_share = cost_ns < cpu_ns ? cost_ns / cpu_ns : 1;
    }
}
