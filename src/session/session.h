/*
 * A session: one request to profile some processes, with its settings, its schedule and its trace.
 *
 *     RUNNING ──stopped, duration over, last process ended, or trace cannot be written──► OVER
 *
 * A session knows which processes match it, and writes the snapshots that it is given. The hub
 * (hub.h) decides which processes it records, and when. All data leaves through a sink as soon as
 * it is written. So the memory of a session grows only with distinct stacks and symbols, not with
 * time, and its file grows only with what has changed.
 *
 * When a session is over, its trace still lacks the names of functions. Looking them up takes
 * seconds and reads files of other users' programs. The owner of the session therefore calls
 * hs_session_finish() in a process that can afford to wait.
 *
 * Ensures   after the first failed write to the trace, the session writes nothing more.
 * Threads   one.
 * Fails     -errno; `error` keeps the trace's first error.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/budget.h"
#include "collect/dump_schedule.h"
#include "collect/region/heap_selection.h"
#include "session/frame_names.h"
#include "session/heaps_seen.h"
#include "session/match.h"
#include "session/process_facts.h"
#include "session/trace_names.h"
#include "sources/sources.h"
#include "symbol/symbol_wanted.h"
#include "symbol/target_files.h"
#include "trace/trace_writer.h"

#define HS_SESSION_NAME_MAX  63
#define HS_SESSION_PIDS_MAX  4096
#define HS_SESSION_NAMES_MAX 256

/* What a session records, and how. Settings that are zero except for an interval match no
 * process. */
struct hs_session_settings {
    char name[HS_SESSION_NAME_MAX + 1]; /* letters, digits, and . _ - */
    pid_t *pids;                        /* owned, as are the names */
    size_t pid_count;
    char **names; /* names or globs */
    size_t name_count;
    char **skipped; /* owned; path prefixes, see trace/skipped_files.h */
    size_t skipped_count;
    bool is_all;                    /* matches every process */
    uint64_t min_anon_bytes;        /* smaller running processes do not match */
    uid_t uid;                      /* the user whose processes the session may record */
    bool is_any_uid;                /* true: it may record the processes of every user */
    uint64_t interval_bytes;        /* of malloc's heap */
    struct hs_heap_selection heaps; /* settled */
    /* matches every process that announces itself: the socket is the session's own, and only the
     * program that it belongs to and that program's children know it */
    bool is_taking_announced;
    bool is_taking_startup;    /* programs that start while the session runs */
    bool is_attaching_started; /* also those without a client, if the session waits by name */
    bool is_taking_running;    /* processes that run when the session starts */
    bool is_taking_children; /* children that a process had when its recording began, and theirs */
    bool is_symbolizing;
    bool with_blocks; /* snapshots list the live blocks */
    bool is_compressing;
    /* the sink gets what fills a buffer; false: each dump at once, so that another process can
     * continue the file */
    bool is_buffered;
    struct hs_dump_schedule dumps; /* in addition to the dump at the end */
    uint64_t duration_ns;          /* 0: until the session is stopped */
    struct hs_budget_limits limits;
    struct hs_sources_settings sources; /* counters to record in addition to heaps */
};

/* Adds a pid. Returns 0, -ENOMEM, or -E2BIG if the settings hold too many already. */
int hs_session_settings_add_pid(struct hs_session_settings *settings, pid_t pid);
/* Adds a name or glob. Returns as hs_session_settings_add_pid() does. */
int hs_session_settings_add_name(struct hs_session_settings *settings, const char *name);
/* Adds a prefix of the paths of skipped files. Returns as hs_session_settings_add_pid() does. */
int hs_session_settings_add_skipped(struct hs_session_settings *settings, const char *prefix);
/* Frees what the settings own, and zeroes them. */
void hs_session_settings_deinit(struct hs_session_settings *settings);

/* Returns NULL if the settings are valid, otherwise a short text that says what is wrong. */
const char *hs_session_settings_check(const struct hs_session_settings *settings);

/* Is this text valid as a session's name? */
bool hs_session_is_name(const char *name);

/* A list of pids keeps this many: when it is full, adding a pid drops the oldest one. */
#define HS_PID_LIST_MAX 4096

struct hs_pid_list {
    pid_t *pids;
    size_t count, capacity;
};

/* Adds a pid, unless it is in the list already or not above 0. Without memory the list stays as it
 * is. */
void hs_pid_list_add(struct hs_pid_list *list, pid_t pid);
/* Is the pid in the list? */
bool hs_pid_list_has(const struct hs_pid_list *list, pid_t pid);
/* Removes a pid. Returns whether it was in the list. */
bool hs_pid_list_drop(struct hs_pid_list *list, pid_t pid);

/* How far a session has come: what another process needs to continue the session and its file after
 * the process that ran it was killed. */
struct hs_session_progress {
    struct hs_trace_place place;
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t bytes;    /* the part of the file that is complete */
    uint64_t process_count, rejected_count, dump_count, ended_sample_count;
    bool has_begun;
};

struct hs_session;
/* Called after the session has written something and the sink has received it. */
typedef void hs_session_written_fn(void *owner, struct hs_session *session);
/* Does the session want this dump in its trace? */
typedef bool hs_session_wants_fn(void *ctx, const struct hs_snapshot *snap);

struct hs_session {
    struct hs_session_settings settings;
    struct hs_trace_writer *writer;
    struct hs_sources *sources;
    uint64_t sources_written;       /* packets of `sources` that the sink has received */
    uint64_t sources_out_ns;        /* CLOCK_MONOTONIC: when the sink gets the next packets */
    struct hs_symbol_wanted wanted; /* code addresses that will need names */
    struct hs_frame_names frame_names;
    struct hs_target_files *files; /* of its processes; NULL: none yet */
    hs_buf_sink_fn *sink;
    void *sink_ctx;
    void *owner;                       /* set and used by the owner only */
    hs_session_written_fn *on_written; /* NULL: the owner is not notified */
    hs_session_wants_fn *wants;        /* NULL: every dump is written */
    void *wants_ctx;
    struct hs_trace_place place; /* in the trace, after the last flush */
    bool is_over;
    struct hs_java_wanted java_wanted; /* methods of Java whose original names it will need */
    /* How names are looked up at the end: the owner sets is_cancelled, on_progress and say. */
    struct hs_trace_naming naming;
    int names_error;           /* why names could not be looked up; 0: they were */
    int error;                 /* the trace's first error; 0: none */
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    uint64_t next_dump_ns;     /* UINT64_MAX: none is due */
    uint64_t idle_ns;          /* since when no process is left to record; 0: there is one */
    struct hs_cpu_budget cpu;  /* limits the CPU time that we spend on this session */
    uint64_t cpu_used_ns;      /* spent on dumps, and on looking at its processes */
    bool is_alone;             /* its process does nothing else: the trace tells what that cost */
    bool is_resumed;           /* what it cost in another process is not known */
    uint64_t bytes;            /* handed to the sink */
    bool has_begun;            /* it has recorded a process */
    uint64_t process_count;    /* program images that had their last dump */
    uint64_t rejected_count;   /* processes that matched and could not be recorded */
    uint64_t dump_count;
    struct hs_heaps_seen heaps_seen; /* in its dumps */
    uint64_t ended_sample_count;     /* samples of program images that ended */
    struct hs_pid_list seen;     /* processes that it has or had; it takes their forked children */
    struct hs_pid_list late;     /* those of `seen` that were not recorded from their start */
    struct hs_pid_list expected; /* running processes that are about to get a client for it */
    struct hs_pid_list refused;  /* processes whose refusal is in the trace, or counted */
    unsigned refused_listed;     /* refusals with a dump, of processes not named by pid */
    uint64_t refused_unlisted[HS_REFUSAL_N]; /* refusals without a dump, by reason */
};

/* Takes over the settings, and begins the trace. `now_ns` and all times below are CLOCK_MONOTONIC.
 * Returns 0 or -errno. */
int hs_session_new(struct hs_session_settings *settings, hs_buf_sink_fn *sink, void *sink_ctx,
                   uint64_t now_ns, struct hs_session **ret_session);
/* Continues a session of a process that was killed: the sink appends behind the complete part of
 * the file. A dump that was due in between is not made up for. Returns 0 or -errno. */
int hs_session_resume(struct hs_session_settings *settings,
                      const struct hs_session_progress *progress, hs_buf_sink_fn *sink,
                      void *sink_ctx, uint64_t now_ns, struct hs_session **ret_session);
/* How far the session has come, as hs_session_resume() takes it. */
struct hs_session_progress hs_session_progress(const struct hs_session *session);
/* Frees the session. Accepts NULL; returns NULL. */
struct hs_session *hs_session_free(struct hs_session *session);

/* Does a process that has just started match the session? The hub decides whether the session may
 * record it. */
bool hs_session_means_starting(const struct hs_session *session,
                               const struct hs_match_facts *facts);
/* Does a running process match the session? */
bool hs_session_means_running(const struct hs_session *session, const struct hs_match_facts *facts);
/* Do the settings name this pid? */
bool hs_session_names(const struct hs_session *session, pid_t pid);
/* May the session record processes of this user? Looks at its user alone, not at a policy. */
bool hs_session_is_allowed(const struct hs_session *session, uid_t uid);

/* Can a process match that does not exist yet? */
bool hs_session_waits(const struct hs_session *session);

/* The first process is recorded from now on, after attaching to it took some time: duration and
 * dumps count from now, not from the request for the session. */
void hs_session_begin_recording(struct hs_session *session, uint64_t now_ns);

/* Writes a dump of a process, if the session wants it. Returns `error`. */
int hs_session_dump(struct hs_session *session, const struct hs_snapshot *snap);
/* Records that a process matches and is not profiled. The trace gets an empty dump with the reason.
 * When there were many such processes that the session does not name by pid, further ones are only
 * counted, and the counts are written at the end. `words` may be NULL. Returns `error`. */
int hs_session_refuse(struct hs_session *session, const struct hs_process_facts *facts,
                      enum hs_refusal refusal, const struct hs_refusal_words *words,
                      uint64_t now_ns);

/* Reads the machine's counters that are due, and hands the packets of all counters to the sink from
 * time to time. Returns when to call it again (CLOCK_MONOTONIC; UINT64_MAX: not before something
 * else happens). */
uint64_t hs_session_turn_sources(struct hs_session *session, uint64_t now_ns);

/* Is a scheduled dump due? If so, schedules the next one; dumps that were missed are not made up
 * for. */
bool hs_session_take_due_dump(struct hs_session *session, uint64_t now_ns);

/* Call it after cpu_used_ns has grown. Returns true when the session's dumps are rarer from now
 * on. */
bool hs_session_keep_cpu_budget(struct hs_session *session, uint64_t now_ns);

/* Writes the end of the trace: names, if the settings ask for them, and what is still buffered.
 * This can take seconds. Returns `error`. */
int hs_session_finish(struct hs_session *session);
