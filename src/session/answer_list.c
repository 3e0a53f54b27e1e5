/*
 * Answers `list`: the processes and the sessions, and what each of them costs. See answers.h.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/region/region_control.h"
#include "rt/clock.h"
#include "session/answers.h"
#include "session/match.h"
#include "session/process_facts.h"
#include "util/proc.h"

/* Reads the CPU time of all threads of a process, which may be another user's. */
static bool read_cpu(pid_t pid, uint64_t *ret_cpu_ns)
{
    clockid_t id;
    if (pid <= 0 || clock_getcpuclockid(pid, &id) != 0) {
        return false;
    }
    *ret_cpu_ns = hs_clock_ns(id);
    return true;
}

static void add_client(struct hs_listing *listing, struct hs_target *target)
{
    struct hs_process_facts facts;
    struct hs_sample_counts counts;
    size_t i = listing->listed.n_clients++;
    Hs__Ctl__Client *out = listing->client_pointers[i] = &listing->clients[i];
    const struct hs_recorded *recorded = listing->recorded;
    hs__ctl__client__init(out);
    hs_process_facts_of_target(target, &facts);
    hs_match_display(&facts.facts, listing->client_names[i], sizeof(listing->client_names[i]));
    out->has_pid = out->has_uid = out->has_start_real_ns = out->has_region_bytes = true;
    out->pid = (uint32_t)target->process.pid;
    out->process = listing->client_names[i];
    out->uid = target->process.uid;
    out->start_real_ns = target->region.header.start_real_ns;
    out->region_bytes = hs_region_resident_bytes(&target->region);
    out->session = (char *)(uintptr_t)recorded->session_of(recorded->ctx, target);
    out->has_cpu_ns = read_cpu(target->process.pid, &out->cpu_ns);
    if (out->session) {
        hs_target_count_samples(target, &counts);
        out->has_sample_count = out->has_walk_count = out->has_interval_bytes = true;
        out->sample_count = counts.sample_count;
        out->walk_count = counts.walk_count;
        out->interval_bytes = hs_region_control_interval(&target->region);
        out->has_live_bytes = hs_target_read_live(target, &out->live_bytes);
    }
}

static void add_ourselves(Hs__Ctl__Listed *out)
{
    struct hs_proc_status status;
    out->has_pid = out->has_uid = out->has_cpu_ns = out->has_rss_bytes = out->has_mono_ns = true;
    out->pid = (uint32_t)getpid();
    out->uid = geteuid();
    out->cpu_ns = hs_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    out->rss_bytes = hs_proc_read_status(getpid(), &status) == 0 ? status.vm_rss_bytes : 0;
    out->mono_ns = hs_clock_ns(CLOCK_MONOTONIC);
}

struct hs_listing *hs_listing_new(const struct hs_recorded *recorded, size_t session_max)
{
    struct hs_listing *listing = calloc(1, sizeof(*listing));
    const struct hs_registry *registry = recorded->registry;
    if (!listing) {
        return NULL;
    }
    size_t client_max = registry->target_count;
    hs__ctl__listed__init(&listing->listed);
    listing->recorded = recorded;
    listing->clients = calloc(client_max + 1, sizeof(listing->clients[0]));
    listing->client_pointers = calloc(client_max + 1, sizeof(listing->client_pointers[0]));
    listing->client_names = calloc(client_max + 1, sizeof(listing->client_names[0]));
    listing->sessions = calloc(session_max + 1, sizeof(listing->sessions[0]));
    listing->session_pointers = calloc(session_max + 1, sizeof(listing->session_pointers[0]));
    listing->heaps = calloc(session_max + 1, sizeof(listing->heaps[0]));
    listing->listed.clients = listing->client_pointers;
    listing->listed.sessions = listing->session_pointers;
    if (!listing->clients || !listing->client_pointers || !listing->client_names ||
        !listing->sessions || !listing->session_pointers || !listing->heaps) {
        return hs_listing_free(listing);
    }
    add_ourselves(&listing->listed);
    for (size_t i = 0; i < registry->target_count; i++) {
        if (recorded->may_see(recorded->ctx, registry->targets[i])) {
            add_client(listing, registry->targets[i]);
        }
    }
    return listing;
}

struct hs_listing *hs_listing_free(struct hs_listing *listing)
{
    if (listing) {
        free(listing->clients);
        free(listing->client_pointers);
        free(listing->client_names);
        free(listing->sessions);
        free(listing->session_pointers);
        free(listing->heaps);
        free(listing);
    }
    return NULL;
}

Hs__Ctl__Session *hs_listing_add_session(struct hs_listing *listing, const char *name,
                                         const struct hs_session_settings *settings)
{
    size_t i = listing->listed.n_sessions++;
    Hs__Ctl__Session *out = listing->session_pointers[i] = &listing->sessions[i];
    hs__ctl__session__init(out);
    out->session = (char *)(uintptr_t)name;
    out->has_is_all = out->has_interval_bytes = out->has_running_count = out->has_process_count =
        out->has_rejected_count = out->has_dump_count = out->has_sample_count =
            out->has_file_bytes = out->has_region_bytes = true;
    out->n_pid = settings->pid_count;
    out->pid = (uint32_t *)settings->pids;
    out->n_name = settings->name_count;
    out->name = settings->names;
    out->is_all = settings->is_all;
    out->interval_bytes = settings->interval_bytes;
    out->heaps = hs_heaps_message_fill(&listing->heaps[i], &settings->heaps);
    return out;
}

void hs_listing_add_up(const struct hs_listing *listing, Hs__Ctl__Session *session)
{
    for (size_t i = 0; i < listing->listed.n_clients; i++) {
        const Hs__Ctl__Client *client = listing->listed.clients[i];
        if (client->session && strcmp(client->session, session->session) == 0) {
            session->running_count++;
            session->process_count++;
            session->sample_count += client->sample_count;
            session->region_bytes += client->region_bytes;
        }
    }
}
