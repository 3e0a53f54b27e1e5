/*
 * This machine and this installation: see doctor.h.
 *
 * doctor tests what the kernel can do by doing it: distributions bring features into older
 * releases, and containers take them away again.
 */
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "collect/inspect/eligibility.h"
#include "rt/base.h"
#include "symbol/cache_folder.h"
#include "util/human.h"
#include "util/selfpath.h"

#define FILE_BYTES_ENOUGH  (UINT64_C(64) << 30) /* the recorder's tables are one sparse file */
#define FILE_BYTES_MIN     (UINT64_C(1) << 20)
#define SPACE_BYTES_ENOUGH (UINT64_C(1) << 40)
#define FDS_ENOUGH         256U
#define GLIBC_MINOR_FINE   35U /* has _dl_find_object */

/* --- the installation ------------------------------------------------------------------------- */

static void check_library(struct hs_findings *findings)
{
    char path[PATH_MAX];
    int r = hs_selfpath_find_lib(HS_PRELOAD_NAME, path, sizeof(path));
    if (r < 0) {
        hs_findings_add(findings, HS_FINDING_PROBLEM, "recorder",
                        "install it together with heapscope, or name its folder in HEAPSCOPE_LIB",
                        HS_PRELOAD_NAME " cannot be found: %s", strerror(-r));
    } else {
        hs_findings_add(findings, HS_FINDING_OK, "recorder", NULL, "%s", path);
    }
}

static void check_cache(struct hs_findings *findings)
{
    char path[PATH_MAX];
    const char *own = getenv("HEAPSCOPE_CACHE");
    if (own && strcmp(own, "off") == 0) {
        hs_findings_add(findings, HS_FINDING_OK, "cache", NULL, "switched off (HEAPSCOPE_CACHE)");
    } else if (!hs_cache_folder_find(path, sizeof(path))) {
        hs_findings_add(
            findings, HS_FINDING_NOTE, "cache",
            "name a folder of yours in HEAPSCOPE_CACHE, or set it to off",
            "there is no folder for unpacked debug information: looking up names takes longer");
    } else if (access(path, W_OK | X_OK) != 0) {
        hs_findings_add(findings, HS_FINDING_NOTE, "cache",
                        "make it writable, or name another folder in HEAPSCOPE_CACHE",
                        "%s: %s; looking up names takes longer", path, strerror(errno));
    } else {
        hs_findings_add(findings, HS_FINDING_OK, "cache", NULL, "%s", path);
    }
}

/* --- the kernel ------------------------------------------------------------------------------- */

static bool close_fd(int fd)
{
    return fd >= 0 && close(fd) == 0;
}

static bool has_memfd(void)
{
    return close_fd(memfd_create("heapscope-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

static bool has_wipe_on_fork(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return false;
    }
    bool is_there = madvise(page, bytes, MADV_WIPEONFORK) == 0;
    munmap(page, bytes);
    return is_there;
}

static bool has_vm_readv(void)
{
    char from = 'x', to = 0;
    struct iovec local = { &to, 1 }, remote = { &from, 1 };
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 && to == from;
}

static int open_pidfd(void)
{
    return (int)syscall(SYS_pidfd_open, getpid(), 0);
}

static bool has_pidfd(void)
{
    return close_fd(open_pidfd());
}

static bool has_pidfd_getfd(void)
{
    int pidfd = open_pidfd();
    bool is_there = pidfd >= 0 && close_fd((int)syscall(SYS_pidfd_getfd, pidfd, pidfd, 0));
    return close_fd(pidfd) && is_there;
}

static const struct facility {
    const char *name;
    const char *since;
    bool (*works)(void);
    bool is_vital; /* nothing works without it; else only attaching fails */
} facilities[] = {
    { "memfd_create", "3.17", has_memfd, true },
    { "MADV_WIPEONFORK", "4.14", has_wipe_on_fork, true },
    { "process_vm_readv", "3.2", has_vm_readv, false },
    { "pidfd_open", "5.3", has_pidfd, false },
    { "pidfd_getfd", "5.6", has_pidfd_getfd, false },
};

static void check_kernel(struct hs_findings *findings)
{
    struct utsname name;
    bool is_whole = true;
    for (size_t i = 0; i < HS_COUNT_OF(facilities); i++) {
        const struct facility *facility = &facilities[i];
        if (!facility->works()) {
            char remedy[128];
            snprintf(remedy, sizeof(remedy),
                     "use Linux %s or later; in a container, allow this system call",
                     facility->since);
            hs_findings_add(findings, facility->is_vital ? HS_FINDING_PROBLEM : HS_FINDING_NOTE,
                            "kernel", remedy, "%s is missing or not allowed: %s", facility->name,
                            facility->is_vital ? "nothing can be recorded"
                                               : "running processes cannot be attached to");
            is_whole = false;
        }
    }
    if (is_whole && uname(&name) == 0) {
        hs_findings_add(findings, HS_FINDING_OK, "kernel", NULL,
                        "%s %s %s has all that heapscope uses", name.sysname, name.release,
                        name.machine);
    }
}

/* The rights of this process say what it may do to others. */
static void check_attaching(struct hs_findings *findings)
{
    static const char remedy[] =
        "run heapscope as root, or set kernel.yama.ptrace_scope to 0 with sysctl";
    struct hs_eligibility us;
    hs_eligibility_look("/proc", getpid(), &us);
    if (us.actor.has_sys_ptrace && us.yama_scope < 3) {
        hs_findings_add(findings, HS_FINDING_OK, "attaching", NULL,
                        "possible for the processes of all users (heapscope has CAP_SYS_PTRACE)");
    } else if (us.yama_scope == 0) {
        hs_findings_add(findings, HS_FINDING_OK, "attaching", NULL,
                        "possible for the processes of this user");
    } else if (us.yama_scope == 1) {
        hs_findings_add(findings, HS_FINDING_NOTE, "attaching", remedy,
                        "possible only for processes that heapscope started itself "
                        "(kernel.yama.ptrace_scope is 1)");
    } else {
        hs_findings_add(findings, HS_FINDING_NOTE, "attaching",
                        us.yama_scope == 2 ? remedy : "profile with heapscope run",
                        "not possible (kernel.yama.ptrace_scope is %u)", us.yama_scope);
    }
}

/* --- limits ----------------------------------------------------------------------------------- */

static void check_glibc(struct hs_findings *findings)
{
    const char *text = gnu_get_libc_version();
    unsigned long minor = strncmp(text, "2.", 2) == 0 ? strtoul(text + 2, NULL, 10) : 0;
    bool is_fine = minor >= GLIBC_MINOR_FINE;
    hs_findings_add(findings, is_fine ? HS_FINDING_OK : HS_FINDING_NOTE, "C library",
                    is_fine ? NULL : "use a system with glibc 2.35 or later",
                    is_fine
                        ? "glibc %s"
                        : "glibc %s is older than 2.35: stacks are unwound by frame pointers only",
                    text);
}

static uint64_t limit_of(__rlimit_resource_t resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX
                                                                               : limit.rlim_cur;
}

static void check_limits(struct hs_findings *findings)
{
    static const struct {
        __rlimit_resource_t resource;
        uint64_t enough, min; /* below min nothing is recorded */
        const char *what, *remedy;
    } limits[] = {
        { RLIMIT_FSIZE, FILE_BYTES_ENOUGH, FILE_BYTES_MIN,
          "files cannot be larger than %s, so heapscope's library has less room for stacks and "
          "blocks",
          "ulimit -f unlimited" },
        { RLIMIT_AS, SPACE_BYTES_ENOUGH, 0,
          "a process cannot use more than %s of address space, and heapscope's library takes "
          "12 MiB or more of it",
          "ulimit -v unlimited" },
        { RLIMIT_DATA, SPACE_BYTES_ENOUGH, 0,
          "a process cannot have more than %s of data, which includes the data of heapscope's "
          "library",
          "ulimit -d unlimited" },
    };
    bool is_fine = true;
    for (size_t i = 0; i < HS_COUNT_OF(limits); i++) {
        uint64_t limit = limit_of(limits[i].resource);
        if (limit < limits[i].enough) {
            char bytes[HS_HUMAN_BYTES];
            const char *split = strstr(limits[i].what, "%s");
            hs_findings_add(findings, limit < limits[i].min ? HS_FINDING_PROBLEM : HS_FINDING_NOTE,
                            "limits", limits[i].remedy, "%.*s%s%s", (int)(split - limits[i].what),
                            limits[i].what, hs_human_bytes(bytes, (double)limit), split + 2);
            is_fine = false;
        }
    }
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < FDS_ENOUGH) {
        hs_findings_add(findings, HS_FINDING_NOTE, "limits", "raise the hard limit of ulimit -n",
                        "a process can have at most %llu open files, so heapscope can record fewer "
                        "processes at a time",
                        (unsigned long long)files.rlim_max);
        is_fine = false;
    }
    if (is_fine) {
        hs_findings_add(findings, HS_FINDING_OK, "limits", NULL,
                        "no limits on file size, address space and data");
    }
}

/* --- the daemon ------------------------------------------------------------------------------- */

static int try_kind(const struct sockaddr_un *address, int kind)
{
    int fd = socket(AF_UNIX, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    int r = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : -errno;
    close(fd);
    return r == -EAGAIN ? 0 : r; /* its queue is full, so it is there */
}

/* 0: a process listens at the path, or -errno. Does not check which process it is. */
static int try_socket(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(address.sun_path)) {
        return -ENAMETOOLONG;
    }
    memcpy(address.sun_path, path, strlen(path));
    int r = try_kind(&address, SOCK_SEQPACKET);
    return r == -EPROTOTYPE ? try_kind(&address, SOCK_STREAM) : r;
}

static void check_daemon(struct hs_findings *findings)
{
    char runtime_path[PATH_MAX] = "";
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    const char *asked = getenv("HEAPSCOPE_SOCKET");
    if (runtime && *runtime) {
        snprintf(runtime_path, sizeof(runtime_path), "%s/heapscope.sock", runtime);
    }
    bool is_asked = asked && *asked;
    const char *paths[] = { is_asked ? asked : "", is_asked ? "" : runtime_path,
                            is_asked ? "" : "/run/heapscope/heapscope.sock" };
    for (size_t i = 0; i < HS_COUNT_OF(paths); i++) {
        int r = *paths[i] ? try_socket(paths[i]) : -ENOENT;
        if (r == 0) {
            hs_findings_add(findings, HS_FINDING_OK, "heapscoped", NULL, "a process listens at %s",
                            paths[i]);
            return;
        }
        if (r != -ENOENT || (is_asked && i == 0)) {
            hs_findings_add(findings, HS_FINDING_NOTE, "heapscoped",
                            r == -EACCES ? "ask the user who runs it for access to that socket"
                                         : "start heapscoped, or correct HEAPSCOPE_SOCKET",
                            "the daemon cannot be reached at %s: %s", paths[i], strerror(-r));
            return;
        }
    }
    hs_findings_add(
        findings, HS_FINDING_OK, "heapscoped", NULL,
        "no daemon was found; 'heapscope start' needs one, 'record' uses one if it runs, and "
        "'run' and 'attach' need none");
}

void hs_doctor_machine(struct hs_findings *findings)
{
    check_library(findings);
    check_kernel(findings);
    check_attaching(findings);
    check_glibc(findings);
    check_limits(findings);
    check_cache(findings);
    check_daemon(findings);
}
