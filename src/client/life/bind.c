/*
 * Recording without a session. See bind.h.
 */
#include "client/life/bind.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "client/host/linked.h"
#include "client/host/real.h"
#include "client/host/sandbox.h"
#include "client/life/register.h"
#include "client/tables/region.h"
#include "fmt/ctl_layout.h"
#include "rt/atomic.h"
#include "rt/sys.h"
#include "rt/text.h"

#define TRY_NS UINT64_C(1000000000)

/* More than a thread allocates, and less than a step of the floor. */
#define INTERVAL_MAX (UINT64_C(1) << 40)

/* The kept descriptor gets one of the last numbers below the program's limit, or below this: a
 * table for more numbers takes memory. */
#define FD_CEILING UINT64_C(1024)
#define FD_ROOM    UINT64_C(8)

static struct {
    bool is_on;
    bool has_socket; /* `socket` is the only one to look at */
    uint64_t interval_bytes;
    char socket[HS_CTL_PATH_MAX + 1];
    char daemon[HS_CTL_PATH_MAX + 1]; /* of the daemon that has the region; "": none */
    char folder[HS_CTL_PATH_MAX + 1]; /* the user's runtime folder; "": unknown */
    uint32_t is_busy;                 /* a thread looks for a daemon, or changes what is below */
    uint64_t next_try_ns;             /* CLOCK_MONOTONIC */
    bool is_kept;
    int fd;
    uint64_t inode; /* of the file that it was; the program may close it and open another one */
} bound;

/* --- what is asked for ------------------------------------------------------------------------ */

/* Copies a text that fits; otherwise the copy is empty. */
static bool copy_text(const char *text, char *ret_text)
{
    unsigned i = 0;
    while (text && i < HS_CTL_PATH_MAX && text[i]) {
        ret_text[i] = text[i];
        i++;
    }
    bool is_whole = text && text[i] == '\0';
    ret_text[is_whole ? i : 0] = '\0';
    return is_whole;
}

static uint64_t limited(uint64_t interval_bytes)
{
    return interval_bytes < INTERVAL_MAX ? interval_bytes : INTERVAL_MAX;
}

/* A process that runs with other rights than those of the process that started it does not trust
 * its environment. */
static bool is_trusting(void)
{
    return getauxval(AT_SECURE) == 0;
}

static void keep_environment(const struct hs_env *env)
{
    bool is_given = is_trusting() && env->interval_bytes != 0;
    bound.interval_bytes = is_given ? limited(env->interval_bytes) : HS_INTERVAL_BOUND_BYTES;
    if (is_trusting()) {
        bound.has_socket = env->socket != NULL;
        copy_text(env->socket, bound.socket);
        copy_text(env->runtime_folder, bound.folder);
    }
    bound.is_on = true;
}

bool hs_bind_takes(const struct hs_env *env)
{
    /* A program that is linked may have the other library preloaded, which is then the client. */
    bool is_linked = hs_is_linked_library() || hs_real.other_client;
    bool is_asked = env->interval_bytes != 0 && is_trusting();
    if (!env->is_profileable || env->collector || !(is_linked || is_asked)) {
        return false;
    }
    keep_environment(env);
    return true;
}

static bool is_socket(const char *path)
{
    char unused[HS_CTL_PATH_MAX + 1];
    return !path || (path[0] == '/' && copy_text(path, unused));
}

static void take_request(const struct hs_api_bind_v1 *request)
{
    if (request->interval_bytes != 0) {
        bound.interval_bytes = limited(request->interval_bytes);
    }
    if (request->socket) {
        bound.has_socket = copy_text(request->socket, bound.socket);
    }
}

int hs_bind_ask(const struct hs_api_bind_v1 *request)
{
    struct hs_env env;
    hs_env_read(&env);
    if (!env.is_profileable) {
        return -EPERM;
    }
    if (!is_socket(request->socket)) {
        return -EINVAL;
    }
    keep_environment(&env);
    take_request(request);
    return 0;
}

bool hs_bind_is_on(void)
{
    return bound.is_on;
}

const char *hs_bind_daemon(void)
{
    return bound.daemon;
}

uint64_t hs_bind_interval(void)
{
    return bound.interval_bytes;
}

void hs_bind_give_up(void)
{
    bound.is_on = false;
}

uint32_t hs_bind_flags(void)
{
    return bound.is_on ? HS_HELLO_BOUND : 0U;
}

bool hs_bind_is_kept(void)
{
    return hs_load_relaxed(&bound.is_kept);
}

/* --- the region's descriptor ------------------------------------------------------------------ */

static uint64_t inode_of(int fd)
{
    struct stat st = { .st_ino = 0 };
    return hs_sys_fstat(fd, &st) == 0 ? st.st_ino : 0;
}

/* The thread that samples looks at this flag when it reads the clock. No collector has the control
 * page while it is set. */
static void set_flag(bool is_kept)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    uint32_t flags = hs_load_relaxed(&control->flags) & ~(uint32_t)HS_CONTROL_KEPT;
    hs_store_relaxed(&control->flags, flags | (is_kept ? HS_CONTROL_KEPT : 0U));
    hs_store_relaxed(&bound.is_kept, is_kept);
}

/* Keeps a descriptor where it does not get in the way of the program's. */
static void keep(int fd)
{
    uint64_t limit[2] = { FD_CEILING, FD_CEILING };
    hs_sys_getrlimit(RLIMIT_NOFILE, limit);
    uint64_t ceiling = limit[0] < FD_CEILING ? limit[0] : FD_CEILING;
    long first = ceiling > FD_ROOM ? (long)(ceiling - FD_ROOM) : 0;
    long kept = hs_sys_fcntl(fd, F_DUPFD_CLOEXEC, first);
    if (kept < 0) {
        kept = hs_sys_fcntl(fd, F_DUPFD_CLOEXEC, 3); /* all of them are in use */
    }
    bound.fd = (int)kept;
    bound.inode = kept >= 0 ? inode_of((int)kept) : 0;
    bound.next_try_ns = hs_sandbox_now_ns() + TRY_NS;
    bound.daemon[0] = '\0';
    set_flag(kept >= 0);
}

/* Closes what was kept, unless the program has done so. */
static void close_kept(void)
{
    if (bound.is_kept && inode_of(bound.fd) == bound.inode) {
        hs_sys_close(bound.fd);
    }
    bound.inode = 0;
}

/* --- the daemon ------------------------------------------------------------------------------- */

static bool find_daemon(struct hs_daemon_lookup *ret_daemon)
{
    const struct hs_env env = { .socket = bound.has_socket ? bound.socket : NULL,
                                .runtime_folder = bound.folder[0] ? bound.folder : NULL,
                                .is_chosen = true };
    return hs_daemon_lookup_find(&env, ret_daemon);
}

void hs_bind_find(struct hs_collector_connect *ret_collector)
{
    ret_collector->name = "";
    ret_collector->sock = -1;
    ret_collector->interval_bytes = bound.interval_bytes;
    if (find_daemon(&ret_collector->daemon)) {
        ret_collector->sock = ret_collector->daemon.sock;
        ret_collector->name = ret_collector->daemon.path;
    }
}

void hs_bind_announce(const struct hs_collector_connect *collector, int fd)
{
    if (collector->sock >= 0 && hs_register_send(collector->sock, fd, hs_bind_flags()) == 0) {
        copy_text(collector->name, bound.daemon);
    } else {
        keep(fd);
    }
}

void hs_bind_announce_again(int fd)
{
    struct hs_daemon_lookup daemon;
    struct hs_collector_connect collector = { .sock = -1 };
    if (find_daemon(&daemon)) {
        collector = (struct hs_collector_connect){ .name = daemon.path, .sock = daemon.sock };
    }
    hs_bind_announce(&collector, fd);
    hs_collector_connect_leave(&collector);
}

/* Looks for a daemon. The flag goes first: the daemon may set others. */
static void hand_over(void)
{
    struct hs_daemon_lookup daemon;
    if (inode_of(bound.fd) != bound.inode) {
        set_flag(false); /* the program has closed it: no daemon can get the region any more */
        return;
    }
    if (!find_daemon(&daemon)) {
        return;
    }
    set_flag(false);
    if (hs_register_send(daemon.sock, bound.fd, hs_bind_flags()) == 0) {
        copy_text(daemon.path, bound.daemon);
        hs_sys_close(bound.fd);
        bound.inode = 0;
    } else {
        set_flag(true);
    }
    hs_sys_close(daemon.sock);
}

/* A child of vfork or of a raw clone uses its parent's memory, and must leave it as it is. */
static bool may_try(void)
{
    return !hs_sandbox_is_tight() && hs_region.header->pid == hs_sys_getpid();
}

static void try_at_once(void)
{
    uint32_t is_free = 0;
    uint64_t old_mask = hs_sys_block_signals();
    /* ORDER bind: what the last thread that looked has left. */
    if (hs_cas_acq_rel(&bound.is_busy, &is_free, 1)) {
        if (bound.is_kept && may_try()) {
            hand_over();
        }
        /* ORDER bind: as above. */
        hs_store_release(&bound.is_busy, 0);
    }
    hs_sys_restore_signals(old_mask);
}

HS_COLD void hs_bind_try(void)
{
    uint64_t now_ns = hs_sandbox_now_ns();
    uint64_t next_ns = hs_load_relaxed(&bound.next_try_ns);
    if (hs_bind_is_kept() && now_ns >= next_ns &&
        hs_cas_relaxed(&bound.next_try_ns, &next_ns, now_ns + TRY_NS)) {
        try_at_once();
    }
}

int hs_bind_change(const struct hs_api_bind_v1 *request)
{
    uint32_t is_free = 0;
    if (!is_socket(request->socket)) {
        return -EINVAL;
    }
    bool is_same =
        !request->socket || (bound.has_socket && hs_text_is_same(bound.socket, request->socket));
    if (!is_same && !hs_bind_is_kept()) {
        return -EISCONN;
    }
    if (hs_load_relaxed(&hs_control_page.control.interval_bytes) == HS_INTERVAL_OFF) {
        return -EPERM;
    }
    /* ORDER bind: as above. */
    if (!hs_cas_acq_rel(&bound.is_busy, &is_free, 1)) {
        return -EAGAIN;
    }
    take_request(request);
    /* ORDER bind: as above. */
    hs_store_release(&bound.is_busy, 0);
    if (request->interval_bytes != 0) {
        hs_region_set_interval(bound.interval_bytes);
    }
    if (hs_bind_is_kept()) {
        try_at_once();
    }
    return 0;
}

void hs_bind_follow_fork(void)
{
    close_kept();
    bound.is_busy = 0;
    bound.is_kept = false;
}
