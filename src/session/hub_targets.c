/*
 * Decides which session gets an image that begins: see hub_targets.h.
 *
 * A forked child goes to its parent's session, whatever its name is, as it holds the parent's
 * blocks. Its region and /proc name the parent; /proc may know better, as a process in a pid
 * namespace sees other numbers. Neither is proof: the session must be allowed to record the child.
 */
#include "session/hub_targets.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collect/region/region_control.h"
#include "rt/base.h"
#include "rt/clock.h"
#include "util/proc.h"

#define HS_LOOK_PERIOD_SESSION_NS UINT64_C(2000000000)
/* From one look at which files a process has mapped to the next one. */
#define HS_MAPPINGS_FIRST_NS UINT64_C(2000000)
#define HS_MAPPINGS_MAX_NS   UINT64_C(10000000000)
#define HS_CHILD_IS_YOUNG_NS UINT64_C(50000000)
/* Between two looks at the files of a process lies half of the time since the first look, and
 * this at most. */
#define HS_FILES_LOOK_MAX_NS UINT64_C(1000000000)

/* --- giving a target to a session ------------------------------------------------------------- */

static bool has_budget(const struct hs_session *session)
{
    const struct hs_budget_limits *limits = &session->settings.limits;
    return limits->memory_bytes != 0 || limits->overhead_ppm != 0 || limits->cpu_ns != 0;
}

static void set_budget(const struct hs_session *session, struct hs_target *target)
{
    if (has_budget(session)) {
        hs_target_budget_set(&target->session.budget, &target->region, &session->settings.limits,
                             session->settings.interval_bytes, &session->settings.heaps);
        target->session.budget.dump_rarity = session->cpu.rarity;
    }
}

void hs_hub_own(struct hs_target *target, struct hs_session *session)
{
    target->session.owner = session;
    target->region.heaps = &session->settings.heaps;
    target->session.is_without_types = session->settings.sources.is_without_types;
    target->region.has_blocks = session->settings.with_blocks;
    set_budget(session, target);
    if (!session->settings.is_taking_announced) {
        target->process.look_period_max_ns = HS_LOOK_PERIOD_SESSION_NS;
    }
    session->has_begun = true;
    hs_pid_list_add(&session->seen, target->process.pid);
    if (!hs_target_is_from_startup(target)) {
        hs_pid_list_add(&session->late, target->process.pid);
    }
    hs_pid_list_drop(&session->expected, target->process.pid);
}

enum hs_hub_answer hs_hub_give(struct hs_target *target, struct hs_session *session,
                               uint64_t now_ns)
{
    struct hs_target_setting setting = { .asked_bytes = session->settings.interval_bytes,
                                         .interval_bytes = session->settings.interval_bytes,
                                         .heaps = &session->settings.heaps };
    if (has_budget(session)) {
        setting.interval_bytes = hs_target_budget_inherited(&target->region, setting.asked_bytes);
    }
    if (hs_target_begin_session(target, &setting, now_ns) < 0) {
        /* Its region belongs to an earlier session: it makes another one for this session. */
        hs_pid_list_add(&session->expected, target->process.pid);
        hs_target_renew(target, &setting);
        return HS_HUB_ATTACHING;
    }
    if (!session->has_begun && hs_pid_list_has(&session->expected, target->process.pid)) {
        hs_session_begin_recording(session, now_ns);
    }
    hs_hub_own(target, session);
    hs_hub_hold_files(target, false, now_ns); /* it may end at any moment */
    return HS_HUB_RECORDED;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Which files are mapped is looked at when the client has seen a new module, and besides more and
 * more rarely: a jitdump is mapped without being a module. */
static bool is_mapping_due(struct hs_target *target, uint64_t now_ns)
{
    struct hs_files_watch *watch = &target->session.files;
    struct hs_region now = target->region;
    uint64_t count = hs_region_refresh(&now) == 0 ? hs_region_count(&now, HS_SECTION_MODULES) : 0;
    bool is_due = count > watch->module_count || now_ns >= watch->next_ns;
    watch->module_count = count;
    if (is_due) {
        watch->period_ns = watch->period_ns == 0 ? HS_MAPPINGS_FIRST_NS : watch->period_ns * 2;
        watch->period_ns =
            watch->period_ns < HS_MAPPINGS_MAX_NS ? watch->period_ns : HS_MAPPINGS_MAX_NS;
        watch->next_ns = now_ns + watch->period_ns;
    }
    return is_due;
}

/* A forked child has the files of its parent, and most execute another program at once. */
static bool is_young_child(const struct hs_target *target, uint64_t now_ns)
{
    const struct hs_region_header_v2 *header = &target->region.header;
    return header->forked_from_pid != 0 && now_ns < header->start_mono_ns + HS_CHILD_IS_YOUNG_NS;
}

void hs_hub_hold_files(struct hs_target *target, bool is_for_dump, uint64_t now_ns)
{
    struct hs_session *session = target->session.owner;
    if (session->settings.is_symbolizing && !is_young_child(target, now_ns) &&
        hs_target_process_has_memory(&target->process) && !target->process.has_ended) {
        hs_target_files_look(&session->files, target->process.pid, target->process.uid,
                             is_mapping_due(target, now_ns) || is_for_dump);
    }
}

void hs_hub_look_at_process(struct hs_target *target, uint64_t now_ns)
{
    struct hs_files_watch *watch = &target->session.files;
    hs_target_look(target, now_ns);
    if (now_ns >= watch->look_ns) {
        watch->first_ns = watch->first_ns ? watch->first_ns : now_ns;
        uint64_t gap_ns = (now_ns - watch->first_ns) / 2;
        watch->look_ns = now_ns + (gap_ns < HS_FILES_LOOK_MAX_NS ? gap_ns : HS_FILES_LOOK_MAX_NS);
        hs_hub_hold_files(target, false, now_ns);
    }
}

/* --- images that begin ------------------------------------------------------------------------ */

/* The parent as the region and as /proc state it. False: the process was not forked. */
static bool find_parents(const struct hs_target *target, pid_t ret_parents[2])
{
    struct hs_proc_stat stat;
    ret_parents[0] = ret_parents[1] = (pid_t)target->region.header.forked_from_pid;
    if (ret_parents[0] == 0) {
        return false;
    }
    if (target->process.pid > 0 && hs_proc_read_stat(target->process.pid, &stat) == 0) {
        ret_parents[1] = (pid_t)stat.ppid;
    }
    return true;
}

void hs_hub_reject(struct hs_session *session, const struct hs_session *holder,
                   const struct hs_process_facts *facts, uint64_t now_ns)
{
    struct hs_refusal_words words;
    if (holder->settings.name[0]) {
        snprintf(words.what, sizeof(words.what), "another session records it: %s",
                 holder->settings.name);
    } else {
        snprintf(words.what, sizeof(words.what), "another session, which has no name, records it");
    }
    snprintf(words.remedy, sizeof(words.remedy),
             "wait for the end of that session, or have it stopped");
    hs_session_refuse(session, facts, HS_REFUSAL_CONCURRENT, &words, now_ns);
}

/* A target that has no session yet, with the facts that decide which one gets it. */
struct arrival {
    const struct hs_target *target;
    const struct hs_process_facts *facts;
    bool is_forked;
    pid_t parents[2];
};

typedef bool means_fn(const struct hs_session *session, const struct arrival *arrival);

/* Has this session had a client brought into the process? */
static bool is_expected(const struct hs_session *session, const struct arrival *arrival)
{
    return hs_pid_list_has(&session->expected, arrival->target->process.pid);
}

/* Was the process forked from a process of this session? */
static bool is_forked_child(const struct hs_session *session, const struct arrival *arrival)
{
    return arrival->is_forked && (hs_pid_list_has(&session->seen, arrival->parents[0]) ||
                                  hs_pid_list_has(&session->seen, arrival->parents[1]));
}

static bool is_late_child(const struct hs_session *session, const struct arrival *arrival)
{
    return hs_pid_list_has(&session->late, arrival->parents[0]) ||
           hs_pid_list_has(&session->late, arrival->parents[1]);
}

static bool is_meant(const struct hs_session *session, const struct arrival *arrival)
{
    return hs_session_means_starting(session, &arrival->facts->facts);
}

/* The session that gets the process, or NULL. An expected process comes before a forked one, and
 * that before a match; among sessions the oldest comes first. */
static struct hs_session *find_holder(const struct hs_hub *hub, struct hs_target *target,
                                      const struct arrival *arrival, uint64_t now_ns)
{
    static means_fn *const ways[] = { is_expected, is_forked_child, is_meant };
    for (size_t way = 0; way < HS_COUNT_OF(ways); way++) {
        for (size_t i = 0; i < hub->session_count; i++) {
            struct hs_session *session = hub->sessions[i];
            /* Such a process comes dormant only after the session has left it or its parent. */
            bool was_left = target->state.is_dormant && session->settings.is_taking_announced;
            if (!was_left && ways[way](session, arrival) &&
                hs_hub_may_have(hub, session, arrival->facts, target, now_ns)) {
                target->state.is_late |=
                    ways[way] == is_forked_child && is_late_child(session, arrival);
                return session;
            }
        }
    }
    return NULL;
}

bool hs_hub_is_forked_for(const struct hs_session *session, const struct hs_target *target,
                          bool *ret_is_late)
{
    struct arrival arrival = { .target = target };
    arrival.is_forked = find_parents(target, arrival.parents);
    *ret_is_late = is_late_child(session, &arrival);
    return is_forked_child(session, &arrival);
}

void hs_hub_welcome(struct hs_hub *hub, struct hs_target *target)
{
    struct hs_process_facts facts;
    uint64_t now_ns = hs_clock_ns(CLOCK_MONOTONIC);
    if (target->state.is_dormant && (target->process.has_ended || hub->session_count == 0)) {
        return; /* the region has no samples and will have none, or there is no session for it */
    }
    hs_process_facts_of_target(target, &facts);
    struct arrival arrival = { .target = target, .facts = &facts };
    arrival.is_forked = find_parents(target, arrival.parents);
    struct hs_session *holder = find_holder(hub, target, &arrival, now_ns);
    if (!holder) {
        hs_hub_give_up(hub, target->process.pid); /* a session that expected it may not record it */
    }
    if (!holder || hs_hub_give(target, holder, now_ns) != HS_HUB_RECORDED) {
        hs_hub_check_bound(hub, target);
        hs_target_end_session(target);
        return;
    }
    hs_hub_look_soon(hub, target, now_ns);
    for (size_t i = 0; i < hub->session_count; i++) {
        struct hs_session *other = hub->sessions[i];
        if (other != holder && is_meant(other, &arrival) &&
            hs_hub_may_have(hub, other, &facts, target, now_ns)) {
            hs_hub_reject(other, holder, &facts, now_ns);
        }
    }
}

static void add_startup(struct hs_startup *startup, const struct hs_session *session)
{
    uint64_t interval_bytes = session->settings.interval_bytes;
    char heaps[HS_CTL_HEAPS_BYTES];
    if (!hs_session_waits(session)) {
        return;
    }
    hs_heap_selection_text(&session->settings.heaps, heaps);
    if (startup->interval_bytes == 0) {
        *startup = (struct hs_startup){ .interval_bytes = interval_bytes };
        memcpy(startup->heaps, heaps, sizeof(heaps));
    } else if (strcmp(startup->heaps, heaps) != 0) {
        startup->heaps[0] = '\0';
    }
    if (interval_bytes < startup->interval_bytes) {
        startup->interval_bytes = interval_bytes;
    }
}

void hs_hub_find_startup(const struct hs_hub *hub, const struct hs_session *beginning,
                         struct hs_startup *ret_startup)
{
    *ret_startup = (struct hs_startup){ .interval_bytes = 0 };
    for (size_t i = 0; i < hub->session_count; i++) {
        add_startup(ret_startup, hub->sessions[i]);
    }
    if (beginning) {
        add_startup(ret_startup, beginning);
    }
}

/* --- clients that do not announce themselves -------------------------------------------------- */

int hs_hub_take_client(struct hs_hub *hub, struct hs_pending_client *pending, uint64_t now_ns)
{
    return hs_registry_take(&hub->registry, pending, now_ns);
}

void hs_hub_give_up(struct hs_hub *hub, pid_t pid)
{
    for (size_t i = 0; i < hub->session_count; i++) {
        hs_pid_list_drop(&hub->sessions[i]->expected, pid);
    }
}
