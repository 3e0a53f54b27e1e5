/*
 * A running process: see doctor.h.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_jit.h"
#include "cli/doctor/doctor_modules.h"
#include "collect/attach/attachment.h"
#include "collect/attach/embedded_allocator.h"
#include "collect/inspect/eligibility.h"
#include "fmt/ctl_layout.h"
#include "rt/base.h"
#include "rt/text.h"
#include "util/buf.h"
#include "util/human.h"
#include "util/proc.h"
#include "util/proc_maps.h"

#define GLIBC_MINOR_FINE   35U
#define SECCOMP_FILTERED   2U
#define FILTER_PATIENCE_NS UINT64_C(1000000000)
#define LINK_BYTES         (PATH_MAX + 64)

/* --- the process ------------------------------------------------------------------------------ */

static void say_verdict(const struct hs_eligibility *it, struct hs_findings *findings)
{
    struct hs_eligibility_words words;
    hs_eligibility_words(it, &words);
    bool is_fine = it->verdict <= HS_ELIGIBLE_FOR_DAEMON;
    hs_findings_add(findings, is_fine ? HS_FINDING_OK : HS_FINDING_PROBLEM, "process", words.remedy,
                    "%s", words.what);
}

static void say_allocator(const struct hs_eligibility *it, struct hs_findings *findings)
{
    if (it->allocator == HS_ALLOCATOR_OWN) {
        hs_findings_add(findings, HS_FINDING_PROBLEM, "allocator",
                        "link its allocator as a shared library, or use the C library's",
                        "the program contains its own malloc, whose allocations are not recorded");
    } else if (it->heap_profiler) {
        hs_findings_add(findings, HS_FINDING_NOTE, "allocator",
                        "start it without that profiler, so that only heapscope costs time",
                        "malloc comes from %s, and %s is switched on",
                        hs_allocator_name(it->allocator), it->heap_profiler);
    } else if (it->is_maps_known) {
        hs_findings_add(findings, HS_FINDING_OK, "allocator", NULL, "malloc comes from %s",
                        hs_allocator_name(it->allocator));
    }
}

/* Finds a second allocator by its symbols; an allocator without symbols is not found. */
static void say_own_allocator(const struct hs_eligibility *it, struct hs_findings *findings)
{
    char names[80];
    hs_embedded_allocator_describe(it->pid, names, sizeof(names));
    if (names[0] != '\0') {
        hs_findings_add(
            findings, HS_FINDING_OK, "second allocator", NULL,
            "according to its symbols, the program contains an allocator beside malloc (%s "
            "and so on); 'heapscope attach' records it, too",
            names);
    }
}

static void say_memory(const struct hs_eligibility *it, struct hs_findings *findings)
{
    char rss[HS_HUMAN_BYTES], private[HS_HUMAN_BYTES];
    if (it->rss_bytes > 0) {
        hs_findings_add(findings, HS_FINDING_OK, "memory", NULL,
                        "%s resident; %s anonymous, which includes the heap",
                        hs_human_bytes(rss, (double)it->rss_bytes),
                        hs_human_bytes(private, (double)it->private_bytes));
    }
}

static void say_container(const struct hs_eligibility *it, struct hs_findings *findings)
{
    const struct {
        const char *name;
        bool is_own;
    } parts[] = {
        { "files", it->shares_mnt_ns == HS_ANSWER_NO },
        { "network", it->shares_net_ns == HS_ANSWER_NO },
        { "users", it->shares_user_ns == HS_ANSWER_NO },
        { "process numbers", it->status.pid_ns_depth > 0 },
    };
    char names[64] = "";
    size_t count = 0, idx = 0;
    for (size_t i = 0; i < HS_COUNT_OF(parts); i++) {
        count += parts[i].is_own;
    }
    for (size_t i = 0; i < HS_COUNT_OF(parts); i++) {
        if (parts[i].is_own) {
            hs_doctor_join(names, sizeof(names), parts[i].name, idx++, count);
        }
    }
    if (count > 0) {
        hs_findings_add(
            findings, HS_FINDING_NOTE, "container",
            "keep its debug files on this side, in /usr/lib/debug/.build-id",
            "the process runs in a container, with %s of its own: heapscope reads names "
            "from its files through /proc",
            names);
    }
}

/* What its seccomp filters say of the recorder's system calls. Only a user who may attach can read
 * them. */
static void say_filter(const struct hs_eligibility *it, struct hs_findings *findings)
{
    struct hs_attachment attachment;
    if (it->status.seccomp_mode != SECCOMP_FILTERED || it->client.state == HS_CLIENT_WAITING) {
        return;
    }
    if (it->verdict != HS_ELIGIBLE) {
        hs_findings_add(
            findings, HS_FINDING_NOTE, "system calls", NULL,
            "the process has a filter for its system calls (seccomp), which heapscope must read "
            "before it attaches");
    } else if (!hs_attachment_try(it->pid, FILTER_PATIENCE_NS, &attachment)) {
        hs_findings_add(findings, HS_FINDING_PROBLEM, "system calls", NULL, "%s", attachment.words);
    } else if (attachment.is_limited) {
        hs_findings_add(
            findings, HS_FINDING_NOTE, "system calls", NULL,
            "the process has a filter for its system calls (seccomp), which allows what attaching "
            "needs, but neither reading the names of threads nor following forked children");
    } else {
        hs_findings_add(
            findings, HS_FINDING_OK, "system calls", NULL,
            "the process has a filter for its system calls (seccomp), which allows all that "
            "heapscope's library makes");
    }
}

static void say_surroundings(const struct hs_eligibility *it, struct hs_findings *findings)
{
    say_container(it, findings);
    say_filter(it, findings);
    if (it->glibc.major == 2 && it->glibc.minor < GLIBC_MINOR_FINE) {
        hs_findings_add(findings, HS_FINDING_NOTE, "C library",
                        "use a system with glibc 2.35 or later",
                        "glibc 2.%u is older than 2.35: stacks are unwound by frame pointers only",
                        it->glibc.minor);
    }
    if (it->exe.is_deleted) {
        hs_findings_add(findings, HS_FINDING_NOTE, "program",
                        "restart it, or keep the debug file of the build that runs",
                        "the program's file was deleted or replaced after the program had started: "
                        "names come only from a debug file with the same build id");
    }
    if (it->runtimes.has_two_clients) {
        hs_findings_add(findings, HS_FINDING_NOTE, "recorder", NULL,
                        "both of heapscope's libraries are loaded: the first in the loader's order "
                        "records, which is a preloaded one, and the other one stays away");
    }
    if (it->client.state == HS_CLIENT_ASLEEP) {
        hs_findings_add(findings, HS_FINDING_OK, "recorder", NULL,
                        "the process has loaded heapscope's library, which is dormant");
    } else if (it->client.state == HS_CLIENT_ORPHANED) {
        hs_findings_add(
            findings, HS_FINDING_NOTE, "recorder",
            "attach to the process: the new recording takes the library over",
            "heapscope's library in the process still records for process %u, which has ended",
            it->client.collector_pid);
    }
}

/* --- its modules ------------------------------------------------------------------------------ */

struct mapped {
    pid_t pid;
    bool is_our_root; /* its paths name the same files here */
    struct hs_doctor_modules modules;
};

/*
 * The path at which the mapped file can be read: its own path when the file there is still the
 * same, else the mapping itself in /proc, which takes more rights but works for deleted files and
 * in every namespace.
 */
static void find_file(const struct mapped *mapped, const struct hs_proc_map *map, const char *path,
                      char *ret_path)
{
    struct stat st;
    char root[64] = "";
    if (!mapped->is_our_root) {
        snprintf(root, sizeof(root), "/proc/%d/root", (int)mapped->pid);
    }
    snprintf(ret_path, LINK_BYTES, "%s%s", root, path);
    if (!map->is_deleted && stat(ret_path, &st) == 0 && st.st_ino == map->inode) {
        return;
    }
    char link[LINK_BYTES];
    snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", (int)mapped->pid,
             (unsigned long long)map->start_va, (unsigned long long)map->end_va);
    if (access(link, R_OK) == 0) {
        snprintf(ret_path, LINK_BYTES, "%s", link);
    }
}

/* Adds each file that has code, once. Devices and shared memory are not modules. */
static void add_mapping(struct mapped *mapped, const struct hs_proc_map *map)
{
    char path[PATH_MAX], file[LINK_BYTES];
    if (!map->is_executable || map->inode == 0 || map->is_shared ||
        !hs_proc_map_path(map, path, sizeof(path)) || path[0] != '/' ||
        hs_text_starts_with(path, "/memfd:") || hs_text_starts_with(path, "/dev/")) {
        return;
    }
    if (!hs_doctor_modules_has(&mapped->modules, path)) {
        find_file(mapped, map, path, file);
        hs_doctor_modules_add(&mapped->modules, path, file);
    }
}

static void check_modules(const struct hs_eligibility *it, struct hs_findings *findings)
{
    struct mapped mapped = { .pid = it->pid, .is_our_root = it->shares_mnt_ns != HS_ANSWER_NO };
    struct hs_buf text = HS_BUF_INIT;
    struct hs_proc_map map;
    char folder[64];
    snprintf(folder, sizeof(folder), "/proc/%d", (int)it->pid);
    int r = hs_proc_read_whole(folder, "maps", &text);
    if (r < 0 || text.bytes == 0) {
        hs_findings_add(findings, HS_FINDING_NOTE, "modules", "run doctor as root",
                        "the mappings of the process cannot be read: %s",
                        r < 0 ? strerror(-r) : "nothing is mapped");
    }
    for (const char *at = text.data; hs_proc_maps_next(&at, text.data + text.bytes, &map);) {
        add_mapping(&mapped, &map);
    }
    hs_doctor_jit_process(it->pid, text.data, text.bytes, findings);
    hs_doctor_modules_say(&mapped.modules, findings);
    hs_doctor_modules_deinit(&mapped.modules);
    hs_buf_deinit(&text);
}

/* The properties of the process that a daemon takes into account: its consent, and whether it is
 * dumpable. */
static void say_consent(const struct hs_eligibility *it, struct hs_findings *findings)
{
    bool is_willing = it->is_profileable == HS_ANSWER_YES;
    if (it->is_dumpable == HS_ANSWER_NO && it->verdict <= HS_ELIGIBLE_FOR_DAEMON) {
        hs_findings_add(
            findings, HS_FINDING_NOTE, "consent",
            is_willing ? NULL
                       : "start it with " HS_ENV_PROFILEABLE
                         "=1 and heapscope's library preloaded, so that its user may profile it",
            is_willing ? "the process is not dumpable, but agrees to be profiled by its "
                         "user (" HS_ENV_PROFILEABLE "=1), if it loads heapscope's library itself"
                       : "the process is not dumpable: only root may profile it");
    } else if (is_willing) {
        hs_findings_add(findings, HS_FINDING_OK, "consent", NULL,
                        "the process agrees to be profiled (" HS_ENV_PROFILEABLE "=1)");
    }
}

void hs_doctor_process(pid_t pid, const char *policy, struct hs_findings *findings)
{
    struct hs_eligibility it;
    hs_eligibility_check(pid, &it);
    say_verdict(&it, findings);
    if (it.verdict >= HS_INELIGIBLE_GONE && it.verdict <= HS_INELIGIBLE_SELF) {
        return;
    }
    say_consent(&it, findings);
    hs_doctor_policy_of(policy, pid, findings);
    say_allocator(&it, findings);
    say_own_allocator(&it, findings);
    say_memory(&it, findings);
    say_surroundings(&it, findings);
    check_modules(&it, findings);
}
