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
    char daemon[HS_CTL_PATH_MAX + 1]; /* of the daemon that got the region last; "": none did */
    char folder[HS_CTL_PATH_MAX + 1]; /* the user's runtime folder; "": unknown */
    uint32_t is_busy;                 /* a thread looks for a daemon, or changes what is below */
    uint64_t next_try_ns;             /* CLOCK_MONOTONIC */
    bool is_kept;                     /* no daemon has the region */
    int fd;                           /* the region's */
    uint64_t inode; /* of its file: the program may close it and open another one; 0: no fd */
    /* What the process records while no session does. */
    struct hs_heap_selection_v2 heaps;
    bool has_heaps, is_without_malloc;
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

static bool has_fd(void)
{
    return bound.inode != 0 && inode_of(bound.fd) == bound.inode;
}

/* Sets the flags of the control page. No collector has the page meanwhile: a collector writes other
 * flags of the same word. */
static void set_flags(bool is_kept)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    uint32_t flags =
        hs_load_relaxed(&control->flags) & ~(uint32_t)(HS_CONTROL_KEPT | HS_CONTROL_BOUND);
    flags |= bound.inode != 0 ? HS_CONTROL_BOUND : 0U;
    flags |= is_kept ? HS_CONTROL_KEPT : 0U;
    hs_store_relaxed(&control->flags, flags);
    hs_store_relaxed(&bound.is_kept, is_kept);
}

/* Closes what was kept, unless the program has done so. */
static void close_kept(void)
{
    if (has_fd()) {
        hs_sys_close(bound.fd);
    }
    bound.inode = 0;
}

/* Keeps a copy where it does not get in the way of the program's descriptors. */
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
    close_kept();
    bound.fd = (int)kept;
    bound.inode = kept >= 0 ? inode_of((int)kept) : 0;
    bound.next_try_ns = hs_sandbox_now_ns() + TRY_NS;
}

/* Remembers what the process records, before a session can change it. */
static void keep_heaps(void)
{
    const struct hs_region_control_v1 *control = &hs_control_page.control;
    if (!bound.has_heaps) {
        bound.has_heaps = true;
        bound.heaps = control->heap_selection;
        bound.is_without_malloc = (control->flags & HS_CONTROL_NO_MALLOC) != 0;
    }
}

/* A daemon that was killed may have left the settings of a session. */
static void restore_settings(void)
{
    struct hs_region_control_v1 *control = &hs_control_page.control;
    uint32_t flags = hs_load_relaxed(&control->flags);
    if (hs_load_relaxed(&control->interval_bytes) == HS_INTERVAL_OFF) {
        return; /* its policy said so */
    }
    flags &= ~(uint32_t)(HS_CONTROL_NO_MALLOC | HS_CONTROL_TIMED | HS_CONTROL_LIFETIMES |
                         HS_CONTROL_NATIVE_ONLY);
    hs_store_relaxed(&control->flags,
                     flags | (bound.is_without_malloc ? HS_CONTROL_NO_MALLOC : 0U));
    hs_store_relaxed(&control->region_limit_bytes, 0);
    control->heap_selection = bound.heaps;
    hs_region_set_interval(bound.interval_bytes);
}

void hs_bind_give_up(void)
{
    bound.is_on = false;
    if (bound.inode != 0) {
        close_kept();
        set_flags(false);
    }
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
    ret_collector->heaps = NULL;
    ret_collector->interval_bytes = bound.interval_bytes;
    if (find_daemon(&ret_collector->daemon)) {
        ret_collector->sock = ret_collector->daemon.sock;
        ret_collector->name = ret_collector->daemon.path;
    }
}

void hs_bind_announce(const struct hs_collector_connect *collector, int fd)
{
    keep(fd);
    keep_heaps();
    set_flags(false); /* a daemon may write the page as soon as it has the region */
    if (collector->sock >= 0 && hs_register_send(collector->sock, fd, hs_bind_flags()) == 0) {
        copy_text(collector->name, bound.daemon);
    } else {
        bound.daemon[0] = '\0';
        set_flags(true);
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

/* Does a daemon have the region, or the process that keeps it for the next daemon? */
static bool is_held(void)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = HS_REGION_LOCK_OFFSET, .l_len = 1
    };
    return hs_sys_fcntl(bound.fd, F_OFD_GETLK, (long)&lock) == 0 && lock.l_type != F_UNLCK;
}

/* Looks for a daemon. Returns whether it has the region now. */
static bool hand_over(void)
{
    struct hs_daemon_lookup daemon;
    uint32_t flags = hs_bind_flags();
    if (!find_daemon(&daemon)) {
        set_flags(true);
        return false;
    }
    if (!bound.is_kept) {
        restore_settings();
    }
    if (hs_load_relaxed(&hs_control_page.control.interval_bytes) == HS_INTERVAL_OFF) {
        flags |= HS_HELLO_DORMANT;
    }
    set_flags(false); /* the daemon may set others as soon as it has the region */
    bool is_sent = hs_register_send(daemon.sock, bound.fd, flags) == 0;
    if (is_sent) {
        copy_text(daemon.path, bound.daemon);
    } else {
        set_flags(true);
    }
    hs_sys_close(daemon.sock);
    return is_sent;
}

/* Hands the region to a daemon if none has it. Returns whether it did. */
static bool look(void)
{
    if (!has_fd()) {
        bound.inode = 0; /* the program has closed it: no other daemon can get the region */
        set_flags(false);
        return false;
    }
    return !is_held() && hand_over();
}

/* A child of vfork or of a raw clone uses its parent's memory, and must leave it as it is. */
static bool may_try(void)
{
    return !hs_sandbox_is_tight() && hs_region.header->pid == hs_sys_getpid();
}

bool hs_bind_look(void)
{
    uint32_t is_free = 0;
    bool is_sent = false;
    uint64_t old_mask = hs_sys_block_signals();
    /* ORDER bind: what the last thread that looked has left. */
    if (hs_cas_acq_rel(&bound.is_busy, &is_free, 1)) {
        is_sent = bound.inode != 0 && may_try() && look();
        /* ORDER bind: as above. */
        hs_store_release(&bound.is_busy, 0);
    }
    hs_sys_restore_signals(old_mask);
    return is_sent;
}

HS_COLD void hs_bind_try(void)
{
    uint64_t now_ns = hs_sandbox_now_ns();
    uint64_t next_ns = hs_load_relaxed(&bound.next_try_ns);
    if (hs_load_relaxed(&bound.inode) != 0 && now_ns >= next_ns &&
        hs_cas_relaxed(&bound.next_try_ns, &next_ns, now_ns + TRY_NS)) {
        hs_bind_look();
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
        hs_bind_look(); /* the daemon may have ended */
        if (!hs_bind_is_kept()) {
            return -EISCONN;
        }
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
    hs_bind_look();
    return 0;
}

void hs_bind_follow_fork(void)
{
    close_kept(); /* it is the parent's region */
    bound.is_busy = 0;
    bound.is_kept = false;
}
