/*
 * Processes that match a session and that it may not record: see hub_targets.h.
 *
 * The hub's owner decides (config.authorize). This file acts on the decision: it writes a refusal
 * into the session's trace, unless the session did not really ask for the process
 * (hs_hub_is_silent).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "session/hub_targets.h"

/* A client of an older version has malloc's heap only. */
static bool has_selected_heap(const struct hs_session *session, const struct hs_target *target)
{
    return !target || target->region.header.version > 1 ||
           !session->settings.heaps.is_without_malloc;
}

enum hs_refusal hs_hub_authorize(const struct hs_hub *hub, const struct hs_session *session,
                                 const struct hs_process_facts *facts, struct hs_target *target,
                                 struct hs_refusal_words *ret_words)
{
    uid_t uid = facts->facts.uid;
    if (!has_selected_heap(session, target)) {
        *ret_words = (struct hs_refusal_words){
            .what = "its heapscope library is of an older version, which records libc.malloc only, "
                    "and libc.malloc was left out",
            .remedy = "restart the program, so that it loads the present version",
        };
        return HS_REFUSAL_NO_CLIENT;
    }
    if (hub->config.authorize) {
        return hub->config.authorize(hub->config.ctx, session, facts, target, ret_words);
    }
    if (hs_session_is_allowed(session, uid)) {
        return HS_REFUSAL_NONE;
    }
    *ret_words = (struct hs_refusal_words){ 0 };
    snprintf(ret_words->what, sizeof(ret_words->what), "it belongs to user %u", uid);
    return HS_REFUSAL_OTHER_USER;
}

bool hs_hub_is_silent(const struct hs_hub *hub, const struct hs_session *session,
                      enum hs_refusal refusal, pid_t pid)
{
    bool is_asked_for = !session->settings.is_all || hs_session_names(session, pid);
    return refusal == HS_REFUSAL_OTHER_USER && (hub->config.is_hiding_others || !is_asked_for);
}

bool hs_hub_may_have(const struct hs_hub *hub, struct hs_session *session,
                     const struct hs_process_facts *facts, struct hs_target *target,
                     uint64_t now_ns)
{
    struct hs_refusal_words words;
    enum hs_refusal refusal = hs_hub_authorize(hub, session, facts, target, &words);
    if (refusal != HS_REFUSAL_NONE && !hs_hub_is_silent(hub, session, refusal, facts->facts.pid)) {
        hs_session_refuse(session, facts, refusal, &words, now_ns);
    }
    return refusal == HS_REFUSAL_NONE;
}

void hs_hub_check_bound(const struct hs_hub *hub, struct hs_target *target)
{
    struct hs_process_facts facts;
    if (!hs_target_is_bound(target) || target->session.owner) {
        return;
    }
    hs_process_facts_of_target(target, &facts);
    if (!hub->config.may_bind || !hub->config.may_bind(hub->config.ctx, &facts, target)) {
        hs_target_unbind(target);
    }
}

void hs_hub_refuse(struct hs_hub *hub, pid_t pid, bool is_held, const char *why, uint64_t now_ns)
{
    enum hs_refusal refusal = is_held ? HS_REFUSAL_CONCURRENT : HS_REFUSAL_NO_CLIENT;
    struct hs_process_facts facts;
    struct hs_refusal_words words = { 0 };
    const char *remedy = strstr(why, "; ");
    size_t bytes = remedy ? (size_t)(remedy - why) : strlen(why);
    snprintf(words.what, sizeof(words.what), "%.*s", (int)bytes, why);
    snprintf(words.remedy, sizeof(words.remedy), "%s", remedy ? remedy + 2 : "");
    if (hs_process_facts_read(pid, &facts) < 0) {
        facts = (struct hs_process_facts){ .facts.pid = pid };
    }
    if (facts.facts.cmdline_bytes == 0) {
        refusal = HS_REFUSAL_GONE; /* it has ended, or is about to */
        words = (struct hs_refusal_words){ .what = "it ended before recording began" };
    }
    for (size_t i = 0; i < hub->session_count; i++) {
        if (hs_pid_list_has(&hub->sessions[i]->expected, pid)) {
            hs_session_refuse(hub->sessions[i], &facts, refusal, &words, now_ns);
        }
    }
}

void hs_hub_review(struct hs_hub *hub, uint64_t now_ns)
{
    for (size_t i = hub->registry.target_count; i > 0; i--) {
        struct hs_target *target = hub->registry.targets[i - 1];
        struct hs_session *session = target->session.owner;
        struct hs_process_facts facts;
        struct hs_refusal_words words;
        if (!session) {
            hs_hub_check_bound(hub, target);
            continue;
        }
        hs_process_facts_of_target(target, &facts);
        enum hs_refusal refusal = hs_hub_authorize(hub, session, &facts, target, &words);
        if (refusal != HS_REFUSAL_NONE) {
            hs_hub_part(hub, target, now_ns);
            hs_session_refuse(session, &facts, refusal, &words, now_ns);
        }
    }
}

void hs_hub_word_attaching(int error, struct hs_refusal_words *ret_words)
{
    bool is_busy = error == -EBUSY;
    *ret_words =
        (struct hs_refusal_words){ .what = "the recording ended before heapscope attached to it",
                                   .remedy = "record it again, and for longer" };
    if (error != -EINTR) {
        snprintf(ret_words->what, sizeof(ret_words->what),
                 "heapscope's library is not loaded in it, and cannot be loaded: %s",
                 is_busy ? "another attempt is under way" : strerror(-error));
        snprintf(ret_words->remedy, sizeof(ret_words->remedy), "%s",
                 is_busy ? "try again" : "start it with libheapscope_preload.so in LD_PRELOAD");
    }
}
