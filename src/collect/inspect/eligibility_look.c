/*
 * Collects the facts: see eligibility.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/inspect/eligibility.h"
#include "collect/inspect/exe_file.h"
#include "fmt/ctl_layout.h"
#include "rt/base.h"
#include "util/buf.h"

#define PATH_BYTES    (PATH_MAX + 64)
#define ANCESTORS_MAX 4096U
#define NS_DEPTH_MAX  33U /* the kernel allows 32 levels */
#define VALUE_BYTES   512U

struct look {
    const char *proc;
    char folder[PATH_BYTES]; /* the process's directory */
    char self[PATH_BYTES];
    struct hs_eligibility *it;
};

/* --- small questions to a folder -------------------------------------------------------------- */

static int read_status(const char *folder, struct hs_proc_status *ret_status)
{
    struct hs_buf text = HS_BUF_INIT;
    int r = hs_proc_read_whole(folder, "status", &text);
    r = r < 0 ? r : hs_proc_parse_status(text.data, text.bytes, ret_status);
    hs_buf_deinit(&text);
    return r;
}

static int read_stat(const char *folder, struct hs_proc_stat *ret_stat)
{
    struct hs_buf text = HS_BUF_INIT;
    int r = hs_proc_read_whole(folder, "stat", &text);
    r = r < 0 ? r : hs_proc_parse_stat(text.data, text.bytes, ret_stat);
    hs_buf_deinit(&text);
    return r;
}

static void join(char *ret_path, const char *folder, const char *name)
{
    int len = snprintf(ret_path, PATH_BYTES, "%s/%s", folder, name);
    if (len < 0 || (size_t)len >= PATH_BYTES) {
        ret_path[0] = '\0';
    }
}

static int open_below(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    join(path, folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static enum hs_answer shares_ns(const struct look *look, const char *name)
{
    char ours[PATH_BYTES], its[PATH_BYTES];
    struct stat a, b;
    join(ours, look->self, name);
    join(its, look->folder, name);
    if (stat(ours, &a) != 0 || stat(its, &b) != 0) {
        return HS_ANSWER_UNKNOWN;
    }
    return is_same_file(&a, &b) ? HS_ANSWER_YES : HS_ANSWER_NO;
}

/* heapscope's capabilities count in the user namespaces below its own, not in others. */
static bool is_in_ns_below(const struct look *look)
{
    struct stat ours, at;
    int self_fd = open_below(look->self, "ns/user");
    int fd = open_below(look->folder, "ns/user");
    bool is_found = false;
    if (self_fd >= 0 && fstat(self_fd, &ours) == 0) {
        for (unsigned i = 0; i < NS_DEPTH_MAX && fd >= 0 && !is_found; i++) {
            int parent_fd = ioctl(fd, NS_GET_PARENT);
            close(fd);
            fd = parent_fd;
            is_found = fd >= 0 && fstat(fd, &at) == 0 && is_same_file(&ours, &at);
        }
    }
    if (self_fd >= 0) {
        close(self_fd);
    }
    if (fd >= 0) {
        close(fd);
    }
    return is_found;
}

/* --- rights ----------------------------------------------------------------------------------- */

static void look_at_us(const struct look *look, struct hs_proc_status *ret_self)
{
    struct hs_eligibility_actor *actor = &look->it->actor;
    struct hs_proc_status self = { 0 };
    if (read_status(look->self, &self) == 0) {
        actor->uid = self.uid.effective;
        actor->gid = self.gid.effective;
        actor->cap_permitted_mask = self.cap_permitted_mask;
        actor->has_sys_ptrace = (self.cap_effective_mask >> CAP_SYS_PTRACE & 1) != 0;
        actor->may_read_filters =
            (self.cap_effective_mask >> CAP_SYS_ADMIN & 1) != 0 && self.seccomp_mode == 0;
        if (look->it->shares_user_ns == HS_ANSWER_NO && !is_in_ns_below(look)) {
            actor->has_sys_ptrace = false;
        }
    }
    *ret_self = self;
}

/* Root owns the files in the /proc directory of a process that is not dumpable. (The directory
 * itself still belongs to the process's user.) */
static enum hs_answer look_at_dumpable(const struct look *look)
{
    char path[PATH_BYTES];
    struct stat st;
    join(path, look->folder, "status");
    if (look->it->status.uid.effective == 0 || stat(path, &st) != 0) {
        return HS_ANSWER_UNKNOWN;
    }
    return st.st_uid == look->it->status.uid.effective ? HS_ANSWER_YES : HS_ANSWER_NO;
}

static enum hs_answer ask_kernel(const struct look *look)
{
    int fd = open_below(look->folder, "mem");
    if (fd >= 0) {
        close(fd);
        return HS_ANSWER_YES;
    }
    return fd == -EACCES || fd == -EPERM ? HS_ANSWER_NO : HS_ANSWER_UNKNOWN;
}

static bool is_descendant(const struct look *look, uint32_t ancestor)
{
    uint32_t pid = look->it->status.ppid;
    for (unsigned i = 0; i < ANCESTORS_MAX && pid > 1 && pid != ancestor; i++) {
        char folder[PATH_BYTES], name[16];
        struct hs_proc_stat stat;
        snprintf(name, sizeof(name), "%u", pid);
        join(folder, look->proc, name);
        if (read_stat(folder, &stat) < 0) {
            return false;
        }
        pid = stat.ppid;
    }
    return pid == ancestor;
}

static unsigned read_yama(const char *proc)
{
    struct hs_buf text = HS_BUF_INIT;
    unsigned scope = 0;
    if (hs_proc_read_whole(proc, "sys/kernel/yama/ptrace_scope", &text) == 0 && text.bytes > 0 &&
        text.data[0] >= '0' && text.data[0] <= '9') {
        scope = (unsigned)(text.data[0] - '0');
    }
    hs_buf_deinit(&text);
    return scope;
}

static void look_at_rights(const struct look *look)
{
    struct hs_eligibility *it = look->it;
    struct hs_proc_status self;
    it->shares_user_ns = shares_ns(look, "ns/user");
    it->shares_mnt_ns = shares_ns(look, "ns/mnt");
    it->shares_net_ns = shares_ns(look, "ns/net");
    it->shares_pid_ns = shares_ns(look, "ns/pid");
    look_at_us(look, &self);
    it->is_us = self.tgid != 0 && self.tgid == it->status.tgid;
    it->is_descendant = self.tgid != 0 && is_descendant(look, self.tgid);
    it->is_dumpable = look_at_dumpable(look);
    it->yama_scope = read_yama(look->proc);
    it->may_trace = ask_kernel(look);
}

/* --- what runs there -------------------------------------------------------------------------- */

static void look_at_exe(const struct look *look)
{
    struct hs_eligibility *it = look->it;
    struct hs_exe_file file;
    struct stat st;
    int fd = open_below(look->folder, "exe");
    if (fd < 0) {
        return;
    }
    if (hs_exe_file_inspect(fd, &file) == 0 && file.kind == HS_EXE_ELF) {
        it->exe = (struct hs_eligibility_exe){
            .is_known = true,
            .is_deleted = fstat(fd, &st) == 0 && st.st_nlink == 0,
            .is_64bit = file.is_64bit,
            .is_native = file.is_native,
            .is_static = !file.interpreter[0] && !file.is_loader,
            .is_pie = file.is_pie,
            .sanitizer = file.sanitizer,
        };
        it->allocator = file.defines_malloc ? HS_ALLOCATOR_OWN : HS_ALLOCATOR_LIBC;
    }
    close(fd);
}

static void look_at_maps(const struct look *look)
{
    struct hs_eligibility *it = look->it;
    struct hs_buf text = HS_BUF_INIT;
    /* An empty text: the process's memory is gone, or another user's process hides it. */
    if (hs_proc_read_whole(look->folder, "maps", &text) == 0 && text.bytes > 0) {
        it->is_maps_known = true;
        hs_loaded_runtimes_find(text.data, text.bytes, &it->runtimes);
        if (it->allocator != HS_ALLOCATOR_OWN) {
            it->allocator = it->runtimes.allocator;
        }
    }
    hs_buf_deinit(&text);
    if (it->runtimes.libc_path[0] == '/' && !it->runtimes.is_libc_deleted) {
        char root[PATH_BYTES], path[PATH_BYTES];
        join(root, look->folder, "root");
        join(path, root, it->runtimes.libc_path + 1);
        hs_glibc_version_of(path, &it->glibc);
    }
}

enum hs_answer hs_eligibility_parse_consent(const char *value)
{
    static const char *const no[] = { "0", "no", "off", "false" };
    static const char *const yes[] = { "1", "yes", "on", "true" };
    for (size_t i = 0; i < HS_COUNT_OF(no); i++) {
        if (strcasecmp(value, no[i]) == 0) {
            return HS_ANSWER_NO;
        }
        if (strcasecmp(value, yes[i]) == 0) {
            return HS_ANSWER_YES;
        }
    }
    return HS_ANSWER_UNKNOWN;
}

static void look_at_environ(const struct look *look)
{
    struct hs_eligibility *it = look->it;
    struct hs_buf text = HS_BUF_INIT;
    char value[VALUE_BYTES];
    if (hs_proc_read_whole(look->folder, "environ", &text) == 0) {
        const char *at = text.data;
        size_t bytes = text.bytes;
        if (hs_proc_find_env(at, bytes, HS_ENV_PROFILEABLE, value, sizeof(value))) {
            it->is_profileable = hs_eligibility_parse_consent(value);
        }
        hs_proc_find_env(at, bytes, HS_ENV_COLLECTOR, it->collector, sizeof(it->collector));
        if (it->allocator == HS_ALLOCATOR_JEMALLOC &&
            hs_proc_find_env(at, bytes, "MALLOC_CONF", value, sizeof(value)) &&
            strstr(value, "prof:true")) {
            it->heap_profiler = "jemalloc's heap profiler";
        } else if (it->allocator == HS_ALLOCATOR_TCMALLOC &&
                   hs_proc_find_env(at, bytes, "HEAPPROFILE", value, sizeof(value))) {
            it->heap_profiler = "tcmalloc's heap profiler";
        }
    }
    hs_buf_deinit(&text);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* A process chooses its own name; control characters in it would control the terminal. */
static void keep_name(const char *name, char *ret_name, size_t name_bytes)
{
    hs_proc_join_cmdline(name, strlen(name), ret_name, name_bytes);
}

static void look_at_tracer(const struct look *look)
{
    char folder[PATH_BYTES], name[16];
    struct hs_proc_status tracer;
    snprintf(name, sizeof(name), "%u", look->it->status.tracer_pid);
    join(folder, look->proc, name);
    if (look->it->status.tracer_pid != 0 && read_status(folder, &tracer) == 0) {
        keep_name(tracer.name, look->it->tracer_name, sizeof(look->it->tracer_name));
    }
}

void hs_eligibility_look(const char *proc, pid_t pid, struct hs_eligibility *ret_it)
{
    struct look look = { .proc = proc, .it = ret_it };
    struct hs_eligibility *it = ret_it;
    char name[16];
    memset(it, 0, sizeof(*it));
    it->pid = pid;
    snprintf(name, sizeof(name), "%d", (int)pid);
    join(look.folder, proc, name);
    join(look.self, proc, "self");
    if (pid <= 0 || read_stat(look.folder, &it->stat) < 0 ||
        read_status(look.folder, &it->status) < 0) {
        return;
    }
    it->exists = true;
    it->is_stopped = it->stat.state == 'T';
    it->rss_bytes = it->status.vm_rss_bytes;
    it->private_bytes = it->status.rss_anon_bytes + it->status.vm_swap_bytes;
    keep_name(it->status.name, it->name, sizeof(it->name));
    look_at_tracer(&look);
    look_at_rights(&look);
    if (!it->stat.is_kernel_thread) {
        look_at_exe(&look);
        look_at_maps(&look);
        hs_client_state_look(proc, name, &it->runtimes, it->status.pid_ns_depth == 0, &it->client);
        look_at_environ(&look);
    }
}
