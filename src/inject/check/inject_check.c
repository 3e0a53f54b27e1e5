/*
 * Reads what /proc says about the target and about heapscope itself: see inject_check.h.
 */
#include "inject/check/inject_check.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "arch/remote.h"
#include "inject/check/inject_error.h"
#include "rt/base.h"
#include "util/proc.h"

#define STATUS_BYTES         8192U
#define CAP_DAC_OVERRIDE_BIT 1
#define CAP_SYS_PTRACE_BIT   19
#define CAP_SYS_ADMIN_BIT    21

/* The text after "KEY:" in a /proc/.../status. NULL: no such line. */
static const char *find_line(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0 && line[n] == ':') {
            return line + n + 1;
        }
    }
    return NULL;
}

static uint64_t find_number(const char *text, const char *key, int base)
{
    const char *value = find_line(text, key);
    return value ? strtoull(value, NULL, base) : 0;
}

static bool read_status(pid_t tid, char text[STATUS_BYTES])
{
    size_t bytes = 0;
    if (hs_proc_read(tid, "status", text, STATUS_BYTES - 1, &bytes) < 0) {
        return false;
    }
    text[bytes] = '\0';
    return true;
}

/* --- is it a suitable moment? ----------------------------------------------------------------- */

static char find_state(const char *status)
{
    const char *state = find_line(status, "State");
    return state ? state[strspn(state, " \t")] : '?';
}

/* Finds a living thread: the first one, unless that has ended before the others. 0: none. */
static pid_t find_living(pid_t pid, char state)
{
    char path[64];
    pid_t found = 0;
    if (state != 'Z' && state != 'X') {
        return pid;
    }
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        char text[STATUS_BYTES];
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid > 0 && read_status(tid, text) && find_state(text) != 'Z' &&
            find_state(text) != 'X') {
            found = tid;
        }
    }
    if (folder) {
        closedir(folder);
    }
    return found;
}

/* Where the cgroup freezer may be: the unified hierarchy, the same beside version 1 hierarchies,
 * and the version 1 freezer. */
static const struct freezer {
    const char *line; /* the start of a line of /proc/PID/cgroup; the group follows */
    const char *folder;
    const char *file;
    const char *word; /* the file contains this when the group is frozen */
} freezers[] = {
    { "0::", "/sys/fs/cgroup", "cgroup.events", "frozen 1" },
    { "0::", "/sys/fs/cgroup/unified", "cgroup.events", "frozen 1" },
    { ":freezer:", "/sys/fs/cgroup/freezer", "freezer.state", "FROZEN" },
};

static bool is_frozen_by(const struct freezer *freezer, const char *groups)
{
    char path[4096 + 64], text[256];
    const char *group = strstr(groups, freezer->line);
    if (!group) {
        return false;
    }
    group += strlen(freezer->line);
    snprintf(path, sizeof(path), "%s%.*s/%s", freezer->folder, (int)strcspn(group, "\n"), group,
             freezer->file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    return strstr(text, freezer->word) != NULL;
}

/* Has its control group frozen it? It would stop only when it is thawed. */
static bool is_frozen(pid_t tid)
{
    char groups[4096];
    size_t bytes = 0;
    if (hs_proc_read(tid, "cgroup", groups, sizeof(groups) - 1, &bytes) < 0) {
        return false;
    }
    groups[bytes] = '\0';
    for (size_t i = 0; i < HS_COUNT_OF(freezers); i++) {
        if (is_frozen_by(&freezers[i], groups)) {
            return true;
        }
    }
    return false;
}

/* --- what program is it? ---------------------------------------------------------------------- */

static int check_program(pid_t tid)
{
    char path[64];
    Elf64_Ehdr head;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        /* if this is not readable, a later step is refused too, and says why */
        return HS_INJECT_DONE;
    }
    ssize_t got = pread(fd, &head, sizeof(head), 0);
    close(fd);
    if (got != (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
        return HS_INJECT_OTHER_MACHINE;
    }
    if (head.e_ident[EI_CLASS] == ELFCLASS32) {
        return HS_INJECT_32BIT;
    }
    return head.e_machine == HS_REMOTE_MACHINE ? HS_INJECT_DONE : HS_INJECT_OTHER_MACHINE;
}

static int check_traced(const char *status, char *detail)
{
    struct hs_proc_stat stat;
    pid_t tracer = (pid_t)find_number(status, "TracerPid", 10);
    if (tracer == 0) {
        return HS_INJECT_DONE;
    }
    if (hs_proc_read_stat(tracer, &stat) == 0) {
        snprintf(detail, HS_INJECT_DETAIL_BYTES, "by %s, process %d", stat.comm, (int)tracer);
    } else {
        snprintf(detail, HS_INJECT_DETAIL_BYTES, "by process %d", (int)tracer);
    }
    return HS_INJECT_TRACED;
}

int hs_inject_check(pid_t pid, pid_t *ret_view_tid, char *detail)
{
    char status[STATUS_BYTES];
    if (pid <= 0 || !read_status(pid, status)) {
        /* The mount option hidepid= hides other users' processes; a signal still finds them. */
        return pid > 0 && kill(pid, 0) != 0 && errno == EPERM ? HS_INJECT_OTHER_USER
                                                              : HS_INJECT_NO_PROCESS;
    }
    if ((pid_t)find_number(status, "Tgid", 10) != pid) {
        snprintf(detail, HS_INJECT_DETAIL_BYTES, "it is a thread of process %d",
                 (int)find_number(status, "Tgid", 10));
        return HS_INJECT_NO_PROCESS;
    }
    pid_t view_tid = find_living(pid, find_state(status));
    if (view_tid == 0 || !read_status(view_tid, status)) {
        return HS_INJECT_DYING;
    }
    if (!find_line(status, "VmSize")) {
        return HS_INJECT_KERNEL_THREAD;
    }
    int r = check_traced(status, detail);
    if (r != HS_INJECT_DONE) {
        return r;
    }
    if (find_state(status) == 'T') {
        return HS_INJECT_STOPPED;
    }
    if (is_frozen(view_tid)) {
        return HS_INJECT_FROZEN;
    }
    if (find_number(status, "Seccomp", 10) == HS_THREAD_STRICT) {
        return HS_INJECT_SECCOMP;
    }
    const char *features = find_line(status, "x86_Thread_features");
    if (features && memmem(features, strcspn(features, "\n"), "shstk", 5)) {
        return HS_INJECT_SHADOW_STACK;
    }
    *ret_view_tid = view_tid;
    r = check_program(view_tid);
    return r == HS_INJECT_DONE && find_number(status, "Seccomp", 10) != 0
               ? hs_inject_check_filters(detail)
               : r;
}

/* The kernel demands CAP_SYS_ADMIN in the initial user namespace. Whether heapscope is in that one
 * shows only in the attempt. */
int hs_inject_check_filters(char *detail)
{
    char own[STATUS_BYTES];
    if (!read_status(getpid(), own)) {
        return HS_INJECT_DONE;
    }
    if (find_number(own, "Seccomp", 10) != 0) {
        snprintf(detail, HS_INJECT_DETAIL_BYTES, "heapscope itself runs under a seccomp filter");
        return HS_INJECT_SECCOMP_UNREAD;
    }
    if ((find_number(own, "CapEff", 16) >> CAP_SYS_ADMIN_BIT & 1) == 0) {
        snprintf(detail, HS_INJECT_DETAIL_BYTES, "heapscope has no CAP_SYS_ADMIN");
        return HS_INJECT_SECCOMP_UNREAD;
    }
    return HS_INJECT_DONE;
}

int hs_inject_check_proc(pid_t view_tid)
{
    char path[64];
    struct statfs fs;
    snprintf(path, sizeof(path), "/proc/%d/root/proc", (int)view_tid);
    return statfs(path, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC ? HS_INJECT_DONE
                                                                   : HS_INJECT_NO_PROC;
}

/* The last number of a line: the number in the process's own, innermost namespace. */
static int32_t find_last(const char *text, const char *key)
{
    const char *at = find_line(text, key);
    size_t bytes = at ? strcspn(at, "\n") : 0;
    while (bytes > 0 && at[bytes - 1] >= '0' && at[bytes - 1] <= '9') {
        bytes--;
    }
    return at ? (int32_t)strtol(at + bytes, NULL, 10) : 0;
}

bool hs_inject_check_thread(pid_t tid, struct hs_inject_thread *ret_thread)
{
    char status[STATUS_BYTES];
    if (!read_status(tid, status)) {
        return false;
    }
    *ret_thread = (struct hs_inject_thread){
        .seccomp = (enum hs_thread_seccomp)find_number(status, "Seccomp", 10),
        .filter_count = (uint32_t)find_number(status, "Seccomp_filters", 10),
        .own_pid = find_last(status, "NStgid"),
        .own_tid = find_last(status, "NSpid"),
        .ignored = find_number(status, "SigIgn", 16),
        .caught = find_number(status, "SigCgt", 16)
    };
    return ret_thread->own_pid > 0 && ret_thread->own_tid > 0;
}

/* --- why not? --------------------------------------------------------------------------------- */

/* Are the real, effective and saved ids of a "Uid" or "Gid" line all equal to `ours`? */
static bool are_all(const char *status, const char *key, unsigned long ours)
{
    const char *at = find_line(status, key);
    for (int i = 0; at && i < 3; i++) {
        char *end;
        if (strtoul(at, &end, 10) != ours) {
            return false;
        }
        at = end;
    }
    return at != NULL;
}

static int read_yama(void)
{
    char text[16] = "";
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    return got > 0 ? (int)strtol(text, NULL, 10) : 0;
}

/* The kernel makes root the owner of a process's /proc directory when the process is not
 * dumpable. */
static bool is_undumpable(pid_t pid)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    return stat(path, &st) == 0 && st.st_uid != geteuid();
}

int hs_inject_check_refusal(pid_t pid, int error, char *detail)
{
    char status[STATUS_BYTES], own[STATUS_BYTES];
    if (error == ESRCH || error == ENOENT || !read_status(pid, status)) {
        return HS_INJECT_NO_PROCESS;
    }
    int r = check_traced(status, detail);
    if (r != HS_INJECT_DONE) {
        return r;
    }
    bool is_known = read_status(getpid(), own);
    bool has_cap = is_known && find_number(own, "CapEff", 16) >> CAP_SYS_PTRACE_BIT & 1;
    bool is_same_user = are_all(status, "Uid", geteuid()) && are_all(status, "Gid", getegid());
    int yama = read_yama();
    if (!has_cap && !is_same_user) {
        return geteuid() == 0 ? HS_INJECT_NO_CAPABILITY : HS_INJECT_OTHER_USER;
    }
    if (!has_cap && is_undumpable(pid)) {
        return HS_INJECT_NOT_DUMPABLE;
    }
    if (yama >= (has_cap ? 3 : 1)) {
        snprintf(detail, HS_INJECT_DETAIL_BYTES, "kernel.yama.ptrace_scope is %d", yama);
        return HS_INJECT_YAMA;
    }
    if (is_known && find_number(own, "Seccomp", 10) != 0) {
        return HS_INJECT_OUR_SANDBOX;
    }
    if (!has_cap) {
        /* The user is the same, but the process has capabilities that heapscope lacks, or lives in
         * another user namespace. */
        return HS_INJECT_NO_CAPABILITY;
    }
    if (error == EACCES && !is_same_user &&
        (find_number(own, "CapEff", 16) >> CAP_DAC_OVERRIDE_BIT & 1) == 0) {
        return HS_INJECT_NO_FILE_RIGHTS;
    }
    snprintf(detail, HS_INJECT_DETAIL_BYTES, "%s", strerror(error));
    return HS_INJECT_NOT_PERMITTED;
}
