/*
 * May and can a running process be profiled by attaching to it, and by whom?
 *
 *     struct hs_eligibility it;
 *     hs_eligibility_check(pid, &it);
 *     if (it.verdict > HS_ELIGIBLE_FOR_DAEMON) {
 *         hs_eligibility_words(&it, &words);   what is in the way, and what to do
 *     }
 *
 * Facts first, verdict after: looking reads /proc and nothing else (the process notices nothing), judging is
 * a function of the facts, so that every rule can be tried without the process it is about.
 *
 * Whether we may is asked of the kernel, by opening /proc/PID/mem: that takes the rights of ptrace(2), whatever
 * security modules there are. The rules over user ids, capabilities, dumpability and Yama only explain a refusal;
 * and decide where the kernel did not answer. (Yama notes what it refused in the kernel's log.)
 *
 * A process can say by itself what it wants, in the environment it was started with:
 *     HEAPSCOPE_PROFILEABLE=0 (no, off, false)   not to be attached to
 *     HEAPSCOPE_PROFILEABLE=1                    may be profiled; whoever serves other users can ask for this
 *
 * Holds     the verdict is the first of the enum's order that applies: what no change of ours can mend comes
 *           before what the user's rights mend, and that before what passes.
 * Trust     everything in /proc/PID is chosen by the target: parsed within bounds, names made harmless.
 * Threads   no state.
 * Fails     never: what cannot be read is unknown, and nothing is held against the process for it. All facts are
 *           of a moment; the process may be gone, or another one, when they are used.
 * See       ptrace(2) "Ptrace access mode checking", loaded_runtimes.h, recorder.h, exe_file.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/glibc_version.h"
#include "collect/recorder.h"
#include "collect/loaded_runtimes.h"
#include "util/proc.h"

enum hs_eligibility_verdict {
    HS_ELIGIBLE,
    /* A daemon has it already: a session of that daemon can begin on it, attaching again would be refused. */
    HS_ELIGIBLE_FOR_DAEMON,

    /* There is no such program. */
    HS_INELIGIBLE_GONE,
    HS_INELIGIBLE_KERNEL, /* a thread of the kernel */
    HS_INELIGIBLE_ZOMBIE, /* has ended, and waits for its parent to notice */
    HS_INELIGIBLE_THREAD, /* of process `tgid` */
    HS_INELIGIBLE_SELF,

    /* We may not. */
    HS_INELIGIBLE_OTHER_USER,
    HS_INELIGIBLE_NOT_DUMPABLE, /* set-user-id once, or prctl(PR_SET_DUMPABLE, 0) */
    HS_INELIGIBLE_MORE_RIGHTS,  /* capabilities that we have not */
    HS_INELIGIBLE_YAMA,
    HS_INELIGIBLE_REFUSED, /* by the kernel, for none of these reasons: a security module */
    HS_INELIGIBLE_FILTER,  /* it has a seccomp filter, which attaching has to read */
    HS_INELIGIBLE_OPTED_OUT,

    /* It can't be. */
    HS_INELIGIBLE_32BIT,
    HS_INELIGIBLE_OTHER_MACHINE,
    HS_INELIGIBLE_VALGRIND,
    HS_INELIGIBLE_STATIC,
    HS_INELIGIBLE_MUSL,
    HS_INELIGIBLE_SANITIZER,
    HS_INELIGIBLE_SECCOMP, /* strict: may only read, write and exit */

    /* Not now. */
    HS_INELIGIBLE_STARTING,  /* its loader has not brought in a C library yet */
    HS_INELIGIBLE_PROFILER,  /* another one is in there */
    HS_INELIGIBLE_RECORDING, /* heapscope itself is, and for somebody */
    HS_INELIGIBLE_TRACED,    /* by a debugger */
    HS_INELIGIBLE_STOPPED,
    HS_ELIGIBILITY_N,
};

/* Who could attach as things are. */
enum hs_eligibility_by {
    HS_ELIGIBLE_BY_US,
    HS_ELIGIBLE_BY_OWNER, /* the process's user, and root */
    HS_ELIGIBLE_BY_ROOT,  /* who has CAP_SYS_PTRACE */
    HS_ELIGIBLE_BY_NOBODY,
};

enum hs_answer {
    HS_ANSWER_UNKNOWN,
    HS_ANSWER_NO,
    HS_ANSWER_YES,
};

/* What is known about an executable through /proc/PID/exe; is_known false: it could not be read. */
struct hs_eligibility_exe {
    bool is_known;
    bool is_deleted; /* its file has no name any more */
    bool is_64bit, is_native;
    bool is_static, is_pie;
    const char *sanitizer;
};

/* Us. */
struct hs_eligibility_actor {
    uint32_t uid, gid; /* those that count for files */
    uint64_t cap_permitted_mask;
    bool
        has_sys_ptrace; /* CAP_SYS_PTRACE, and not only in a user namespace that the process is outside of */
    bool may_read_filters; /* seccomp's: CAP_SYS_ADMIN, and none of our own */
};

struct hs_eligibility {
    pid_t pid;
    enum hs_eligibility_verdict verdict;
    enum hs_eligibility_by by;
    struct hs_eligibility_actor actor;

    bool exists;
    bool is_us, is_stopped;
    char name[HS_PROC_COMM_BYTES * 4]; /* without control characters */
    struct hs_proc_stat stat;
    struct hs_proc_status status;
    char tracer_name[HS_PROC_COMM_BYTES * 4];

    /* Rights */
    enum hs_answer may_trace;   /* says the kernel */
    enum hs_answer is_dumpable; /* unknown of root's own processes */
    bool is_descendant;         /* of us */
    unsigned yama_scope;        /* 0: no Yama, or no limits */
    enum hs_answer shares_user_ns, shares_mnt_ns, shares_net_ns, shares_pid_ns;

    /* What runs there */
    struct hs_eligibility_exe exe;
    bool is_maps_known;
    struct hs_loaded_runtimes runtimes;
    struct hs_recorder recorder;
    struct hs_glibc_version glibc;
    enum hs_allocator allocator;   /* that serves malloc */
    const char *heap_profiler;     /* of the allocator, switched on in its environment; NULL none */
    enum hs_answer is_profileable; /* HEAPSCOPE_PROFILEABLE; unknown: not said */
    char collector[65];            /* HEAPSCOPE_COLLECTOR it was started with; "" none */

    uint64_t rss_bytes, private_bytes; /* resident; anonymous, with what is swapped out */
};

struct hs_eligibility_words {
    char what[384];   /* a clause: "process 7 (cat) belongs to user 5" */
    char remedy[256]; /* another: "run heapscope as that user or as root"; "" when there is none */
};

void hs_eligibility_check(pid_t pid, struct hs_eligibility *ret_it);

/* A value of HEAPSCOPE_PROFILEABLE. Unknown: it is none. */
enum hs_answer hs_eligibility_parse_wish(const char *value);

/* The same in a folder that stands for /proc. */
void hs_eligibility_check_in(const char *proc, pid_t pid, struct hs_eligibility *ret_it);

/* The parts: everything but verdict and by; verdict and by from the rest. */
void hs_eligibility_look(const char *proc, pid_t pid, struct hs_eligibility *ret_it);
void hs_eligibility_judge(struct hs_eligibility *it);

/* Also of an eligible one: then what says so, and remedy is "" or how to profile it. */
void hs_eligibility_words(const struct hs_eligibility *it, struct hs_eligibility_words *ret_words);
