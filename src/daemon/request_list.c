/*
 * What there is: programs that announced themselves, and sessions, with what each of them costs. See
 * requests.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl.pb-c.h"
#include "daemon/order.h"
#include "daemon/requests.h"
#include "util/proc.h"

struct listing {
    Hs__Ctl__Listed listed;
    Hs__Ctl__Client *clients;
    Hs__Ctl__Client **client_pointers;
    char (*client_names)[64];
    Hs__Ctl__Session sessions[HS_ORDERS_MAX];
    Hs__Ctl__Session *session_pointers[HS_ORDERS_MAX];
};

static bool listing_init(struct listing *listing, size_t client_max)
{
    hs__ctl__listed__init(&listing->listed);
    listing->clients = calloc(client_max + 1, sizeof(listing->clients[0]));
    listing->client_pointers = calloc(client_max + 1, sizeof(listing->client_pointers[0]));
    listing->client_names = calloc(client_max + 1, sizeof(listing->client_names[0]));
    listing->listed.clients = listing->client_pointers;
    listing->listed.sessions = listing->session_pointers;
    return listing->clients && listing->client_pointers && listing->client_names;
}

static void listing_deinit(struct listing *listing)
{
    free(listing->clients);
    free(listing->client_pointers);
    free(listing->client_names);
}

static void add_client(struct listing *listing, struct hs_target *target)
{
    struct hs_process_facts facts;
    size_t i = listing->listed.n_clients++;
    Hs__Ctl__Client *out = listing->client_pointers[i] = &listing->clients[i];
    const struct hs_session *session = hs_hub_session_of(target);
    hs__ctl__client__init(out);
    hs_process_facts_of_target(target, &facts);
    hs_match_display(&facts.facts, listing->client_names[i], sizeof(listing->client_names[i]));
    out->has_pid = out->has_uid = out->has_start_real_ns = out->has_region_bytes = true;
    out->pid = (uint32_t)target->pid;
    out->process = listing->client_names[i];
    out->uid = target->uid;
    out->start_real_ns = target->region.header.start_real_ns;
    out->region_bytes = hs_region_resident_bytes(&target->region);
    out->session = session ? (char *)(uintptr_t)session->settings.name : NULL;
}

/* What only its processes know. */
static void add_up(const struct hs_hub *hub, const struct hs_session *session,
                   Hs__Ctl__Session *out)
{
    for (size_t i = 0; i < hub->registry.target_count; i++) {
        struct hs_target *target = hub->registry.targets[i];
        if (target->owner == session) {
            out->running_count++;
            out->sample_count += hs_target_sample_count(target);
            out->region_bytes += hs_region_resident_bytes(&target->region);
        }
    }
}

static void fill_numbers(Hs__Ctl__Session *out, const struct hs_daemon *daemon,
                         const struct hs_order *order)
{
    const struct hs_session *session = order->session;
    out->has_running_count = out->has_process_count = out->has_rejected_count =
        out->has_dump_count = out->has_sample_count = out->has_file_bytes = out->has_region_bytes =
            true;
    out->process_count = session ? session->process_count : order->process_count;
    out->rejected_count = session ? session->rejected_count : order->rejected_count;
    out->dump_count = session ? session->dump_count : order->dump_count;
    out->sample_count = session ? session->ended_sample_count : order->sample_count;
    out->file_bytes = session ? session->bytes : order->result.file_bytes;
    if (session) {
        add_up(daemon->hub, session, out);
        out->process_count += out->running_count;
    }
}

static void add_session(struct listing *listing, const struct hs_daemon *daemon,
                        const struct hs_order *order)
{
    static const char *const states[] = { "running", "finishing", "done" };
    const struct hs_session_settings *settings =
        order->session ? &order->session->settings : &order->settings;
    size_t i = listing->listed.n_sessions++;
    Hs__Ctl__Session *out = listing->session_pointers[i] = &listing->sessions[i];
    hs__ctl__session__init(out);
    out->session = (char *)(uintptr_t)order->name;
    out->has_uid = out->has_is_all = out->has_interval_bytes = out->has_start_real_ns = true;
    out->uid = order->uid;
    out->n_pid = settings->pid_count;
    out->pid = (uint32_t *)settings->pids;
    out->n_name = settings->name_count;
    out->name = settings->names;
    out->is_all = settings->is_all;
    out->interval_bytes = settings->interval_bytes;
    out->start_real_ns = order->start_real_ns;
    out->has_end_real_ns = order->end_real_ns != 0;
    out->end_real_ns = order->end_real_ns;
    out->path = order->path;
    out->state = (char *)(uintptr_t)(order->result.error ? "failed" : states[order->state]);
    out->error = (char *)(uintptr_t)hs_order_why(order);
    fill_numbers(out, daemon, order);
}

static void add_daemon(struct listing *listing, const struct hs_daemon *daemon)
{
    Hs__Ctl__Listed *out = &listing->listed;
    struct hs_proc_status status;
    struct timespec cpu = { 0 };
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    out->has_pid = out->has_start_real_ns = out->has_cpu_ns = out->has_rss_bytes =
        out->has_is_system = true;
    out->pid = (uint32_t)getpid();
    out->start_real_ns = daemon->start_real_ns;
    out->cpu_ns = (uint64_t)cpu.tv_sec * UINT64_C(1000000000) + (uint64_t)cpu.tv_nsec;
    out->rss_bytes = hs_proc_read_status(getpid(), &status) == 0 ? status.vm_rss_bytes : 0;
    out->is_system = daemon->is_system;
}

int hs_request_list(struct hs_daemon *daemon, struct hs_peer *peer)
{
    const struct hs_registry *registry = &daemon->hub->registry;
    struct listing *listing = calloc(1, sizeof(*listing));
    int r;
    if (!listing || !listing_init(listing, registry->target_count)) {
        r = hs_peer_refuse(peer, "out of memory");
    } else {
        add_daemon(listing, daemon);
        for (size_t i = 0; i < registry->target_count; i++) {
            if (hs_order_may_see(daemon, peer, registry->targets[i])) {
                add_client(listing, registry->targets[i]);
            }
        }
        for (size_t i = 0; i < daemon->order_count; i++) {
            if (hs_peer_may(daemon, peer, daemon->orders[i]->uid)) {
                add_session(listing, daemon, daemon->orders[i]);
            }
        }
        r = hs_peer_reply(peer, HS_CTL_LISTED, &listing->listed.base, NULL, 0);
    }
    if (listing) {
        listing_deinit(listing);
    }
    free(listing);
    return r;
}
