/*
 * The verdict as a message: see eligibility.h.
 */
#include <stdarg.h>
#include <stdio.h>

#include "collect/inspect/eligibility.h"
#include "fmt/ctl_layout.h"
#include "rt/base.h"

#define YAMA_NOBODY 3U

HS_PRINTF(2, 3)
static void put_what(struct hs_eligibility_words *words, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(words->what, sizeof(words->what), format, args);
    va_end(args);
}

HS_PRINTF(2, 3)
static void put_remedy(struct hs_eligibility_words *words, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(words->remedy, sizeof(words->remedy), format, args);
    va_end(args);
}

/* "7 (cat)" */
struct subject {
    char text[128];
};

static struct subject name_subject(const struct hs_eligibility *it)
{
    struct subject subject;
    snprintf(subject.text, sizeof(subject.text), "%d (%s)", (int)it->pid, it->name);
    return subject;
}

static void say_absent(const struct hs_eligibility *it, struct hs_eligibility_words *words)
{
    switch (it->verdict) {
    case HS_INELIGIBLE_KERNEL:
        put_what(words, "%s is a thread of the kernel, and has no heap", name_subject(it).text);
        break;
    case HS_INELIGIBLE_ZOMBIE:
        put_what(words, "%s has ended, and its parent, %u, has not waited for it yet (zombie)",
                 name_subject(it).text, it->status.ppid);
        break;
    case HS_INELIGIBLE_THREAD:
        put_what(words, "%s is a thread of process %u", name_subject(it).text, it->status.tgid);
        put_remedy(words, "use %u", it->status.tgid);
        break;
    case HS_INELIGIBLE_SELF:
        put_what(words, "%s is heapscope itself", name_subject(it).text);
        break;
    default:
        put_what(words, "there is no process %d", (int)it->pid);
        break;
    }
}

static void say_yama(const struct hs_eligibility *it, struct hs_eligibility_words *words)
{
    if (it->yama_scope >= YAMA_NOBODY) {
        put_what(words,
                 "%s: this system lets no process attach to another one (kernel.yama.ptrace_scope "
                 "is %u)",
                 name_subject(it).text, it->yama_scope);
        put_remedy(words, "profile it from its start, with heapscope run");
        return;
    }
    put_what(words, "%s: this system lets only %s attach to it (kernel.yama.ptrace_scope is %u)",
             name_subject(it).text,
             it->yama_scope == 1 ? "root and the ancestors of the process" : "root",
             it->yama_scope);
    put_remedy(words, "run heapscope as root, or set kernel.yama.ptrace_scope to 0 with sysctl");
}

static void say_not_permitted(const struct hs_eligibility *it, struct hs_eligibility_words *words)
{
    switch (it->verdict) {
    case HS_INELIGIBLE_OTHER_USER:
        put_what(words, "%s belongs to user %u, and heapscope runs as user %u",
                 name_subject(it).text, it->status.uid.real, it->actor.uid);
        put_remedy(words, it->by == HS_ELIGIBLE_BY_OWNER ? "run heapscope as that user or as root"
                                                         : "run heapscope as root");
        break;
    case HS_INELIGIBLE_NOT_DUMPABLE:
        put_what(words, "%s forbids access to its memory, or gained privileges when it started",
                 name_subject(it).text);
        put_remedy(words, "run heapscope as root");
        break;
    case HS_INELIGIBLE_MORE_RIGHTS:
        put_what(words, "%s has capabilities that heapscope lacks", name_subject(it).text);
        put_remedy(words, "run heapscope as root");
        break;
    case HS_INELIGIBLE_YAMA:
        say_yama(it, words);
        break;
    case HS_INELIGIBLE_FILTER:
        put_what(words,
                 "%s has a filter for its system calls (seccomp), which heapscope must read before "
                 "it attaches, and which it is not permitted to read",
                 name_subject(it).text);
        put_remedy(words, "run heapscope as root of the machine (CAP_SYS_ADMIN), outside of "
                          "containers and sandboxes");
        break;
    case HS_INELIGIBLE_OPTED_OUT:
        put_what(words,
                 "%s does not permit profiling: it was started with " HS_ENV_PROFILEABLE "=0",
                 name_subject(it).text);
        put_remedy(words, "start it without that variable");
        break;
    default:
        put_what(words,
                 "%s: the kernel does not let heapscope attach, because of a security module or "
                 "because heapscope is in a container",
                 name_subject(it).text);
        put_remedy(words, "run heapscope as root of the machine, or allow ptrace in the "
                          "container (--cap-add SYS_PTRACE)");
        break;
    }
}

static const char *name_sanitizer(const struct hs_eligibility *it)
{
    return it->runtimes.sanitizer ? it->runtimes.sanitizer : it->exe.sanitizer;
}

static void say_impossible(const struct hs_eligibility *it, struct hs_eligibility_words *words)
{
    switch (it->verdict) {
    case HS_INELIGIBLE_32BIT:
        put_what(words, "%s is a 32-bit program; heapscope can profile only 64-bit programs",
                 name_subject(it).text);
        put_remedy(words, "build it for 64 bits");
        break;
    case HS_INELIGIBLE_OTHER_MACHINE:
        put_what(
            words,
            "%s is a program for another processor; heapscope can profile only native programs",
            name_subject(it).text);
        put_remedy(words, "build it for this machine");
        break;
    case HS_INELIGIBLE_VALGRIND:
        put_what(words, "%s runs under valgrind, which has an allocator of its own",
                 name_subject(it).text);
        put_remedy(words, "start it without valgrind");
        break;
    case HS_INELIGIBLE_STATIC:
        put_what(
            words,
            "%s is statically linked%s, so there is no dynamic loader to load heapscope's library",
            name_subject(it).text, it->exe.is_known && it->exe.is_pie ? " (static-pie)" : "");
        put_remedy(words, "link it dynamically");
        break;
    case HS_INELIGIBLE_MUSL:
        put_what(words, "%s uses the musl C library; heapscope's library needs glibc",
                 name_subject(it).text);
        put_remedy(words, "build it for glibc");
        break;
    case HS_INELIGIBLE_SANITIZER:
        put_what(words, "%s is built with %s, whose malloc cannot be replaced",
                 name_subject(it).text, name_sanitizer(it));
        put_remedy(words, "build it without the sanitizer");
        break;
    default:
        put_what(words, "%s is permitted no system calls but read, write and exit (seccomp)",
                 name_subject(it).text);
        break;
    }
}

static void say_not_now(const struct hs_eligibility *it, struct hs_eligibility_words *words)
{
    switch (it->verdict) {
    case HS_INELIGIBLE_STARTING:
        put_what(words, "%s has no C library: it has only just started, or uses none",
                 name_subject(it).text);
        put_remedy(words, "try again; a program without a C library cannot be profiled");
        break;
    case HS_INELIGIBLE_PROFILER:
        put_what(words, "%s is profiled by %s", name_subject(it).text, it->runtimes.profiler);
        put_remedy(words, "start it without %s", it->runtimes.profiler);
        break;
    case HS_INELIGIBLE_RECORDING:
        put_what(words, "%s is already being recorded by heapscope", name_subject(it).text);
        if (it->client.is_kept) {
            put_remedy(words, "start heapscoped: the process is bound, and the daemon takes over "
                              "what it has recorded");
        } else if (it->client.collector_pid != 0) {
            put_remedy(words, "end that recording first (process %u records it)",
                       it->client.collector_pid);
        } else {
            put_remedy(words, "end that recording first");
        }
        break;
    case HS_INELIGIBLE_TRACED:
        put_what(words, "%s is being traced by %u (%s)", name_subject(it).text,
                 it->status.tracer_pid, it->tracer_name);
        put_remedy(words, "detach the tracer first: a process can have only one");
        break;
    default:
        put_what(words, "%s is stopped, so there is nothing to record", name_subject(it).text);
        put_remedy(words, "continue it: kill -CONT %d", (int)it->pid);
        break;
    }
}

void hs_eligibility_words(const struct hs_eligibility *it, struct hs_eligibility_words *ret_words)
{
    ret_words->what[0] = ret_words->remedy[0] = '\0';
    if (it->verdict == HS_ELIGIBLE) {
        put_what(ret_words, "%s can be profiled", name_subject(it).text);
    } else if (it->verdict == HS_ELIGIBLE_FOR_DAEMON) {
        put_what(ret_words,
                 "%s can be profiled: heapscoped, process %u, is already connected to it",
                 name_subject(it).text, it->client.collector_pid);
        put_remedy(ret_words, "heapscope start -p %d", (int)it->pid);
    } else if (it->verdict <= HS_INELIGIBLE_SELF) {
        say_absent(it, ret_words);
    } else if (it->verdict <= HS_INELIGIBLE_OPTED_OUT) {
        say_not_permitted(it, ret_words);
    } else if (it->verdict <= HS_INELIGIBLE_SECCOMP) {
        say_impossible(it, ret_words);
    } else {
        say_not_now(it, ret_words);
    }
}
