/*
 * A session: one request to profile some processes, with its settings, its schedule and its trace.
 *
 *     RUNNING ──stop, duration over, its last process ended, trace not to be written──► OVER
 *
 * It knows which processes it means, and writes what it is given; which of them it gets, and when, is the
 * hub's affair. Everything leaves through a sink, as it comes: its memory grows with distinct stacks and
 * symbols only, not with time, and its file with what has changed.
 *
 * When it is over, the trace still lacks names. Looking them up takes seconds and reads files of other
 * people's programs, so whoever owns the session does that (hs_session_finish) where he can afford it.
 *
 * Holds     after the first failure of the trace nothing more is written.
 * Threads   one.
 * Fails     -errno; `error` keeps the first one of the trace.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/budget.h"
#include "collect/dump_schedule.h"
#include "session/frame_names.h"
#include "session/match.h"
#include "session/process_facts.h"
#include "sources/sources.h"
#include "symbol/symbol_wanted.h"
#include "trace/trace_writer.h"

#define HS_SESSION_NAME_MAX     63
#define HS_SESSION_PIDS_MAX     4096
#define HS_SESSION_NAMES_MAX    256
#define HS_SESSION_INTERVAL_MAX (UINT64_C(1) << 40)

/* Zero-initialised and with an interval it means nothing and takes nobody. */
struct hs_session_settings {
    char name[HS_SESSION_NAME_MAX + 1]; /* letters, digits, and . _ - */
    pid_t *pids;                        /* owned, as are the names */
    size_t pid_count;
    char **names;
    size_t name_count;
    char **skipped; /* owned: trace/skipped_files.h */
    size_t skipped_count;
    bool is_all;
    uint64_t min_anon_bytes; /* of running processes */
    uid_t uid;               /* whose processes it may have; */
    bool is_any_uid;         /* true: everybody's */
    uint64_t interval_bytes;
    bool is_taking_startup;    /* programs that start while it runs */
    bool is_attaching_started; /* and those that come without a client, too, if it waits by name */
    bool is_taking_running;    /* processes that run when it starts */
    bool
        is_taking_children; /* and children that a process had when recording of it began, and theirs */
    bool is_symbolizing;
    bool is_compressing;
    struct hs_dump_schedule dumps; /* besides that at the end */
    uint64_t duration_ns;          /* 0: until it is stopped */
    struct hs_budget_limits limits;
    struct hs_sources_settings sources; /* besides heaps */
};

/* Adds a pid, a name or glob, or what paths of skipped files begin with. -ENOMEM; -E2BIG: too many. */
int hs_session_settings_add_pid(struct hs_session_settings *settings, pid_t pid);
int hs_session_settings_add_name(struct hs_session_settings *settings, const char *name);
int hs_session_settings_add_skipped(struct hs_session_settings *settings, const char *prefix);
void hs_session_settings_deinit(struct hs_session_settings *settings);

/* NULL, or what is wrong with them, in a few words. */
const char *hs_session_settings_check(const struct hs_session_settings *settings);

/* May this stand as a session's name? */
bool hs_session_is_name(const char *name);

/* The newest so many; the oldest are forgotten. */
#define HS_PID_LIST_MAX 4096

struct hs_pid_list {
    pid_t *pids;
    size_t count, capacity;
};

void hs_pid_list_add(struct hs_pid_list *list, pid_t pid);
bool hs_pid_list_has(const struct hs_pid_list *list, pid_t pid);
/* Was it there? */
bool hs_pid_list_drop(struct hs_pid_list *list, pid_t pid);

/* How far it has come: what it takes to go on with it, and its file, after whoever ran it was killed. */
struct hs_session_progress {
    struct hs_trace_place place;
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t bytes;    /* of the file that are whole */
    uint64_t process_count, rejected_count, dump_count, ended_sample_count;
    bool has_begun;
};

struct hs_session;
/* Something was written, and is in the sink. */
typedef void hs_session_written_fn(void *owner, struct hs_session *session);

struct hs_session {
    struct hs_session_settings settings;
    struct hs_trace_writer *writer;
    struct hs_sources *sources;
    uint64_t sources_written;       /* packets of these that were handed out, */
    uint64_t sources_out_ns;        /* and when others will be at the latest */
    struct hs_symbol_wanted wanted; /* code addresses that will want names */
    struct hs_frame_names frame_names;
    hs_buf_sink_fn *sink;
    void *sink_ctx;
    void *owner;                       /* of whoever started it */
    hs_session_written_fn *on_written; /* NULL: nobody wants to know */
    struct hs_trace_place place;       /* of the trace, as of then */
    bool is_over;
    bool (*is_hurried)(void);  /* of the owner, asked while names are looked up; NULL: never */
    bool has_lost_names;       /* it was hurried, and some names are not in the trace */
    int error;                 /* of the trace; 0: none */
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t next_dump_ns;     /* UINT64_MAX: none is due */
    uint64_t idle_ns;          /* since when it has nobody left to record; 0: it has */
    struct hs_cpu_budget cpu;  /* of us, for its sake: */
    uint64_t cpu_used_ns;      /* dumps, and looking at its processes */
    uint64_t bytes;            /* handed to the sink */
    bool has_begun;            /* it got a process */
    uint64_t process_count;    /* process images that had their last dump */
    uint64_t rejected_count;   /* and those that it could not have */
    uint64_t dump_count;
    uint64_t ended_sample_count; /* of images that ended */
    struct hs_pid_list seen;     /* processes it has, or had: their forked children are its, too */
    struct hs_pid_list late;     /* of these, those that were not recorded from their start */
    struct hs_pid_list expected; /* running ones that are about to get a client for it */
    struct hs_pid_list refused;  /* told of already */
    unsigned refused_listed;     /* of those not named by pid, with a dump */
    uint64_t refused_unlisted[HS_REFUSAL_N];
};

/* Takes over the settings, and begins the trace. */
int hs_session_new(struct hs_session_settings *settings, hs_buf_sink_fn *sink, void *sink_ctx,
                   uint64_t now_ns, struct hs_session **ret_session);
/* Goes on with one: the sink appends to what was whole. */
int hs_session_resume(struct hs_session_settings *settings,
                      const struct hs_session_progress *progress, hs_buf_sink_fn *sink,
                      void *sink_ctx, uint64_t now_ns, struct hs_session **ret_session);
struct hs_session_progress hs_session_progress(const struct hs_session *session);
/* NULL is fine. Returns NULL. */
struct hs_session *hs_session_free(struct hs_session *session);

/* Does it mean this process? Whether it may have it is the hub's affair. */
bool hs_session_means_starting(const struct hs_session *session,
                               const struct hs_match_facts *facts);
bool hs_session_means_running(const struct hs_session *session, const struct hs_match_facts *facts);
bool hs_session_names(const struct hs_session *session, pid_t pid);
/* By its user alone. */
bool hs_session_is_allowed(const struct hs_session *session, uid_t uid);

/* May a process come that is not there yet? */
bool hs_session_waits(const struct hs_session *session);

/* Attaching to its first process took its time: duration and dumps count from now, not from when it was asked for. */
void hs_session_begin_recording(struct hs_session *session, uint64_t now_ns);

int hs_session_dump(struct hs_session *session, const struct hs_snapshot *snap);
/* A process that it means is not profiled: an empty dump that says why, or, when there were many that it does not
 * name by pid, only a count at the end. `words` may be NULL. */
int hs_session_refuse(struct hs_session *session, const struct hs_process_facts *facts,
                      enum hs_refusal refusal, const struct hs_refusal_words *words,
                      uint64_t now_ns);

/* Counters of the machine, and handing out what there is of all of them; returns when to come back. */
uint64_t hs_session_turn_sources(struct hs_session *session, uint64_t now_ns);

/* Is a scheduled dump due? Then the next one is scheduled; missed ones are not made up for. */
bool hs_session_take_due_dump(struct hs_session *session, uint64_t now_ns);

/* After cpu_used_ns has grown. True: its dumps are rarer from now on. */
bool hs_session_keep_cpu_budget(struct hs_session *session, uint64_t now_ns);

/* The end of the trace: names, if they are wanted, and what is still buffered. Takes long. */
int hs_session_finish(struct hs_session *session);
