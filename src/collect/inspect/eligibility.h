/*
 * May and can a running process be profiled by attaching to it, and by which user?
 *
 *     struct hs_eligibility it;
 *     hs_eligibility_check(pid, &it);
 *     if (it.verdict > HS_ELIGIBLE_FOR_DAEMON) {
 *         hs_eligibility_words(&it, &words);   what is in the way, and what to do
 *     }
 *
 * Facts come first, the verdict after: looking reads /proc and nothing else (the process notices
 * nothing), and judging is a function of the facts. So every rule can be tested without the process
 * that it is about.
 *
 * Whether heapscope may attach is asked of the kernel, by opening /proc/PID/mem: that needs the
 * rights of ptrace(2), whatever security modules there are. The rules about user ids, capabilities,
 * dumpability and Yama explain a refusal, and decide where the kernel did not answer. (Yama writes
 * what it refused to the kernel's log.)
 *
 * A process can say what it wants, in the environment that it was started with:
 *     HEAPSCOPE_PROFILEABLE=0 (no, off, false)   it must not be attached to
 *     HEAPSCOPE_PROFILEABLE=1                    it may be profiled; a daemon that serves other
 *                                                users can require this
 *
 * Ensures   the verdict is the first of the enum's order that applies: there is no such program,
 *           then missing rights, then reasons in the program itself, then passing ones.
 * Trust     everything in /proc/PID is chosen by the target: it is parsed within bounds, and names
 *           are sanitized.
 * Threads   no state.
 * Fails     never: what cannot be read is unknown, and is not held against the process. All facts
 *           are of one moment; the process may be gone, or be another one, when they are used.
 * See       ptrace(2) "Ptrace access mode checking", loaded_runtimes.h, client_state.h, exe_file.h
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/inspect/client_state.h"
#include "collect/inspect/glibc_version.h"
#include "collect/inspect/loaded_runtimes.h"
#include "util/proc.h"

enum hs_eligibility_verdict {
    HS_ELIGIBLE,
    /* A daemon has it already: a session of that daemon can begin on it; attaching again would be
     * refused. */
    HS_ELIGIBLE_FOR_DAEMON,

    /* There is no such program. */
    HS_INELIGIBLE_GONE,
    HS_INELIGIBLE_KERNEL, /* a thread of the kernel */
    HS_INELIGIBLE_ZOMBIE, /* has ended, and its parent has not waited for it yet */
    HS_INELIGIBLE_THREAD, /* a thread of process `tgid` */
    HS_INELIGIBLE_SELF,

    /* heapscope lacks the permission. */
    HS_INELIGIBLE_OTHER_USER,
    HS_INELIGIBLE_NOT_DUMPABLE, /* was set-user-id, or called prctl(PR_SET_DUMPABLE, 0) */
    HS_INELIGIBLE_MORE_RIGHTS,  /* it has capabilities that heapscope lacks */
    HS_INELIGIBLE_YAMA,
    HS_INELIGIBLE_REFUSED, /* the kernel refuses for another reason: a security module */
    HS_INELIGIBLE_FILTER,  /* it has a seccomp filter, which attaching must be able to read */
    HS_INELIGIBLE_OPTED_OUT,

    /* The process cannot be profiled. */
    HS_INELIGIBLE_32BIT,
    HS_INELIGIBLE_OTHER_MACHINE,
    HS_INELIGIBLE_VALGRIND,
    HS_INELIGIBLE_STATIC,
    HS_INELIGIBLE_MUSL,
    HS_INELIGIBLE_SANITIZER,
    HS_INELIGIBLE_SECCOMP, /* strict mode: may only read, write and exit */

    /* The process cannot be profiled at present. */
    HS_INELIGIBLE_STARTING,  /* its loader has not loaded a C library yet */
    HS_INELIGIBLE_PROFILER,  /* another profiler is loaded in it */
    HS_INELIGIBLE_RECORDING, /* heapscope records it already, for a living collector */
    HS_INELIGIBLE_TRACED,    /* a debugger traces it */
    HS_INELIGIBLE_STOPPED,
    HS_ELIGIBILITY_N,
};

/* Which user could attach as things are. */
enum hs_eligibility_by {
    HS_ELIGIBLE_BY_US,
    HS_ELIGIBLE_BY_OWNER, /* the process's user, or root */
    HS_ELIGIBLE_BY_ROOT,  /* a user with CAP_SYS_PTRACE */
    HS_ELIGIBLE_BY_NOBODY,
};

enum hs_answer {
    HS_ANSWER_UNKNOWN,
    HS_ANSWER_NO,
    HS_ANSWER_YES,
};

/* What is known about an executable through /proc/PID/exe; is_known is false when it could not be
 * read. */
struct hs_eligibility_exe {
    bool is_known;
    bool is_deleted; /* its file has been deleted */
    bool is_64bit, is_native;
    bool is_static, is_pie;
    const char *sanitizer;
};

/* heapscope itself. */
struct hs_eligibility_actor {
    uint32_t uid, gid; /* the ids that count for file access */
    uint64_t cap_permitted_mask;
    /* has CAP_SYS_PTRACE, in a user namespace that the process is inside of */
    bool has_sys_ptrace;
    /* may read seccomp filters: has CAP_SYS_ADMIN, and no filter of its own */
    bool may_read_filters;
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
    enum hs_answer may_trace;   /* the kernel's answer */
    enum hs_answer is_dumpable; /* unknown for root's own processes */
    bool is_descendant;         /* of heapscope */
    unsigned yama_scope;        /* 0: no Yama, or no limits */
    enum hs_answer shares_user_ns, shares_mnt_ns, shares_net_ns, shares_pid_ns;

    /* What the process runs */
    struct hs_eligibility_exe exe;
    bool is_maps_known;
    struct hs_loaded_runtimes runtimes;
    struct hs_client_activity client;
    struct hs_glibc_version glibc;
    enum hs_allocator allocator; /* the allocator that serves malloc */
    /* the allocator's own profiler, switched on in the environment; NULL: none */
    const char *heap_profiler;
    enum hs_answer is_profileable; /* HEAPSCOPE_PROFILEABLE; unknown: not set */
    char collector[65];            /* HEAPSCOPE_COLLECTOR in its environment; "": none */

    /* resident memory; anonymous memory, including swapped-out pages */
    uint64_t rss_bytes, private_bytes;
};

struct hs_eligibility_words {
    char what[384]; /* a clause: "process 7 (cat) belongs to user 5" */
    /* a clause: "run heapscope as that user or as root"; "" when there is no remedy */
    char remedy[256];
};

/* Looks at the process and decides. */
void hs_eligibility_check(pid_t pid, struct hs_eligibility *ret_it);

/* Parses a value of HEAPSCOPE_PROFILEABLE. Unknown: it is not a valid value. */
enum hs_answer hs_eligibility_parse_consent(const char *value);

/* The same, with a directory in place of /proc. */
void hs_eligibility_check_in(const char *proc, pid_t pid, struct hs_eligibility *ret_it);

/* The first half of that: fills in the facts, everything but verdict and by. */
void hs_eligibility_look(const char *proc, pid_t pid, struct hs_eligibility *ret_it);
/* The second half: derives verdict and by from the facts. */
void hs_eligibility_decide(struct hs_eligibility *it);

/* Describes the verdict. For an eligible process, `what` says that it is eligible, and `remedy` is
 * "" or says how to profile it. */
void hs_eligibility_words(const struct hs_eligibility *it, struct hs_eligibility_words *ret_words);
