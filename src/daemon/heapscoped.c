/*
 * heapscoped: the daemon that profiles the programs of a user, or of a machine, for `heapscope
 * start`, `snapshot`, `list` and `stop`.
 *
 * main() parses the options, opens the socket, takes over what a previous daemon left, and runs the
 * loop. The daemon stays in the foreground; a supervisor, or '&' in a shell, runs it in the
 * background.
 *
 * See       daemon.h, docs/man/heapscoped.8
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/ctl_socket.h"
#include "daemon/daemon.h"
#include "daemon/daemon_log.h"
#include "daemon/handover/fd_holder.h"
#include "daemon/handover/handover_save.h"
#include "daemon/handover/supervisor.h"
#include "session/policy_file.h"
#include "util/opts.h"

#define HS_HELP_COLUMNS 80
#define HS_KEEP_NS      UINT64_C(600000000000)
#define HS_KEEP_MAX_NS  (UINT64_C(1) << 60)

struct options {
    const char *socket, *policy;
    bool is_system;
    bool is_version_wanted;
    uint64_t keep_ns;
    struct hs_store_limits store; /* of the snapshots that programs take of themselves */
};

/* Parses the options. Returns -1 if the daemon should start, otherwise the exit status. */
static int parse(int argc, char **argv, struct options *options)
{
    const struct hs_opt list[] = {
        HS_OPT_STRING(0, "socket", "PATH", &options->socket,
                      "socket to listen at (default HEAPSCOPE_SOCKET, else\n"
                      "$XDG_RUNTIME_DIR/heapscope.sock, else as with --system)"),
        HS_OPT_FLAG(0, "system", &options->is_system,
                    "serve all users of the machine; for root: at /run/heapscope/heapscope.sock"),
        HS_OPT_DURATION(0, "keep", "DURATION", &options->keep_ns, 0, HS_KEEP_MAX_NS,
                        "if this daemon is killed, keep its recordings this long for the\n"
                        "next one, then finish them without it (default 10m; 0s: do not keep)"),
        HS_OPT_NUMBER(0, "snapshots", "COUNT", &options->store.count_max, 0, UINT32_MAX,
                      "store at most so many snapshots that the programs of a user take of\n"
                      "themselves, or leave when they are killed (default 100; 0: none)"),
        HS_OPT_SIZE(0, "snapshots-size", "SIZE", &options->store.bytes_max, 1, UINT64_MAX,
                    "and at most so many bytes of them (default 256M); the oldest go first"),
        HS_OPT_STRING(0, "policy", "FILE", &options->policy,
                      "policy that says who may profile what, see heapscope-policy(5) (default "
                      "with --system\n" HS_POLICY_SYSTEM_PATH ", if it is there; else none)"),
        HS_OPT_FLAG('V', "version", &options->is_version_wanted, "print the version"),
    };
    const struct hs_opts_spec spec = {
        .program = "heapscoped",
        .summary = "profile running programs, and those that start later, on demand",
        .operands_usage = "",
        .footer = "heapscoped stays in the foreground. 'heapscope start', 'stop', 'list' and\n"
                  "'snapshot' talk to it. SIGUSR1: take a snapshot of all profiled processes.\n"
                  "SIGHUP: read the policy again.\n"
                  "SIGTERM, SIGINT: end all sessions, and finish their files.",
        .options = list,
        .option_count = HS_COUNT_OF(list),
    };
    struct hs_opts_result result;
    int r = hs_opts_parse(&spec, argc, argv, &result);
    if (r < 0) {
        hs_daemon_log("%s", result.error);
        return 2;
    }
    if (result.is_help_wanted) {
        hs_opts_write_help(&spec, stdout, HS_HELP_COLUMNS);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    if (options->is_version_wanted) {
        puts("heapscoped " HS_VERSION);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    return -1;
}

/* Logs why the daemon cannot listen at `path`. Returns the exit status. */
static int log_listen_error(const char *path, int error)
{
    if (error == -EADDRINUSE) {
        hs_daemon_log("another daemon listens at %s already", path);
    } else if (error == -EEXIST) {
        hs_daemon_log("%s exists already, and is not a socket", path);
    } else if (error == -EINVAL) {
        hs_daemon_log("%s is not an absolute path, or LISTEN_FDS does not pass a listening "
                      "SOCK_SEQPACKET socket",
                      path);
    } else {
        hs_daemon_log("cannot listen at %s: %s; choose another path with --socket PATH", path,
                      strerror(-error));
    }
    return 1;
}

/* The path at which programs and commands look first. NULL: the path in the environment is not
 * valid. */
static const char *choose_path(const struct options *options)
{
    static char paths[2][HS_CTL_PATH_MAX + 1];
    if (options->socket) {
        return options->socket;
    }
    if (options->is_system) {
        return HS_CTL_SYSTEM_SOCKET;
    }
    return hs_ctl_socket_paths(paths) < 0 ? NULL : paths[0];
}

/* --- what a previous daemon left -------------------------------------------------------------- */

struct inheritance {
    struct hs_fdstore store;
    struct hs_fdstore_items items;
    struct hs_daemon_socket daemon_socket;
    bool is_last; /* no daemon came: we finish what is there, and end */
};

/* Takes a socket that listens already: the supervisor's, or that of a daemon that was killed.
 * Returns -ENOENT if there is none. */
static int take_daemon_socket(struct inheritance *got, int supervisors_sock)
{
    struct hs_fdstore_item *item = hs_fdstore_items_find(&got->items, HS_HANDOVER_LISTENER);
    if (supervisors_sock >= 0) {
        return hs_daemon_socket_take(supervisors_sock, true, &got->daemon_socket);
    }
    return item ? hs_daemon_socket_take(hs_fdstore_item_take(item, 0), false, &got->daemon_socket)
                : -ENOENT;
}

/* Finds or makes the socket, and gets what a previous daemon left. Returns 0 or -errno. */
static int find_socket(const struct options *options, const char *path, struct inheritance *got)
{
    int sock = hs_supervisor_take(HS_HANDOVER_PREFIX, &got->items);
    if (sock < 0 && sock != -ENOENT) {
        return sock;
    }
    got->store = hs_supervisor_fdstore();
    int r = -ENOENT;
    if (got->store.sock < 0) {
        r = hs_fd_holder_meet(path, &got->store, &got->items);
    }
    if (r < 0 && r != -ENOENT) {
        return r;
    }
    r = take_daemon_socket(got, sock);
    return r == -ENOENT ? hs_daemon_socket_open(path, options->is_system, &got->daemon_socket) : r;
}

static void put_items(struct inheritance *got)
{
    for (size_t i = 0; i < got->items.count; i++) {
        const struct hs_fdstore_item *item = &got->items.items[i];
        if (item->fd_count > 0 && item->fds[0] >= 0) {
            hs_fdstore_put(&got->store, item->name, item->fds, item->fd_count);
        }
    }
}

/* Starts an fd holder if there is no holder, so that from now on kill -9 of this daemon loses
 * nothing. In the fd holder, this returns with is_last when no daemon came. */
static void find_fd_holder(const struct options *options, struct inheritance *got)
{
    bool is_old = got->store.is_fd_holder && !hs_handover_has_state(&got->items);
    if (is_old && options->keep_ns > 0) {
        /* It was forked by an older version, and could not finish what this version keeps. */
        hs_fdstore_close(&got->store);
    }
    if (got->store.sock < 0 && options->keep_ns > 0) {
        int r =
            hs_fd_holder_start(got->daemon_socket.path, options->keep_ns, &got->store, &got->items);
        if (r < 0) {
            hs_daemon_log("if this daemon is killed, its recordings are lost: %s", strerror(-r));
        } else if (r == 0) {
            put_items(got);
        }
        got->is_last = r == 1;
    }
    if (got->is_last) {
        struct hs_fdstore_item *item = hs_fdstore_items_find(&got->items, HS_HANDOVER_LISTENER);
        got->daemon_socket.fd = item ? hs_fdstore_item_take(item, 0) : -1;
    } else if (!got->daemon_socket.is_from_supervisor) {
        hs_fdstore_put(&got->store, HS_HANDOVER_LISTENER, &got->daemon_socket.fd, 1);
    }
}

int main(int argc, char **argv)
{
    struct options options = { .keep_ns = HS_KEEP_NS,
                               .store = { HS_STORE_COUNT_DEFAULT, HS_STORE_BYTES_DEFAULT } };
    char store[PATH_MAX] = "";
    struct inheritance got = { .store = HS_FDSTORE_NONE };
    struct hs_access_control access;
    struct hs_daemon daemon;
    int status = parse(argc, argv, &options);
    if (status >= 0) {
        return status;
    }
    if (options.is_system && geteuid() != 0) {
        hs_daemon_log("--system serves all users: only root may use it");
        return 1;
    }
    const char *path = choose_path(&options);
    if (!path) {
        hs_daemon_log(HS_ENV_SOCKET " is not the absolute path of a socket, or is too long");
        return 1;
    }
    if (hs_store_find(options.is_system, store, sizeof(store)) == -EINVAL) {
        hs_daemon_log(HS_ENV_STATE " is neither the absolute path of a folder nor 'off'");
        return 1;
    }
    umask(022);
    hs_daemon_block_signals();
    if (hs_access_control_open(options.policy, options.is_system, &access) < 0) {
        hs_daemon_log("cannot start without the policy");
        return 1;
    }
    int r = find_socket(&options, path, &got);
    if (r < 0) {
        hs_access_control_close(&access);
        return log_listen_error(path, r);
    }
    find_fd_holder(&options, &got);
    r = hs_daemon_open(&got.daemon_socket, &access, options.is_system, &daemon);
    if (r < 0) {
        hs_daemon_log("cannot start: %s", strerror(-r));
        return 1;
    }
    hs_daemon_set_store(&daemon, store, &options.store);
    hs_daemon_restore(&daemon, &got.store, &got.items);
    hs_fdstore_items_deinit(&got.items);
    hs_daemon_log("ready at %s", daemon.daemon_socket.path);
    if (got.is_last) {
        hs_daemon_stop(&daemon);
    }
    r = hs_daemon_run(&daemon);
    hs_daemon_close(&daemon);
    return r < 0 ? 1 : 0;
}
