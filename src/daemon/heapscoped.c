/*
 * heapscoped: profiles programs of a user, or of a machine, for `heapscope start` and its like.
 *
 * Options, the socket, signals, the loop, and out. It stays in the foreground: whoever wants it elsewhere has a
 * supervisor, or a shell's '&'.
 *
 * See       daemon.h, docs/man/heapscoped.8
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctl/ctl_socket.h"
#include "daemon/daemon.h"
#include "daemon/daemon_log.h"
#include "util/opts.h"

#define HS_HELP_COLUMNS 80

struct options {
    const char *socket;
    bool is_system;
    bool is_version_wanted;
};

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct options *options)
{
    const struct hs_opt list[] = {
        HS_OPT_STRING(0, "socket", "PATH", &options->socket,
                      "where to listen (default HEAPSCOPE_SOCKET, else\n"
                      "$XDG_RUNTIME_DIR/heapscope.sock, else as with --system)"),
        HS_OPT_FLAG(0, "system", &options->is_system,
                    "serve all users of the machine; for root: at /run/heapscope/heapscope.sock"),
        HS_OPT_FLAG('V', "version", &options->is_version_wanted, "print the version"),
    };
    const struct hs_opts_spec spec = {
        .program = "heapscoped",
        .summary = "profile running programs, and such that start, on demand",
        .operands_usage = "",
        .footer = "Stays in the foreground. SIGUSR1: a dump of all profiled processes.\n"
                  "SIGTERM, SIGINT: ends all sessions, and finishes their files.\n"
                  "Then 'heapscope start', 'stop', 'list' and 'snapshot' talk to it.",
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

static int say_why_not(const char *path, int error)
{
    if (error == -EADDRINUSE) {
        hs_daemon_log("another daemon listens at %s already", path);
    } else if (error == -EEXIST) {
        hs_daemon_log("%s is there already, and is no socket", path);
    } else if (error == -EINVAL) {
        hs_daemon_log("%s is no absolute path, or what LISTEN_FDS gives is no listening "
                      "SOCK_SEQPACKET socket",
                      path);
    } else {
        hs_daemon_log("cannot listen at %s: %s; choose a place with --socket PATH", path,
                      strerror(-error));
    }
    return 1;
}

/* Where programs and commands look first. NULL: what the environment names is no path of a socket. */
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

int main(int argc, char **argv)
{
    struct options options = { 0 };
    struct hs_doorway doorway;
    struct hs_daemon daemon;
    int status = parse(argc, argv, &options);
    if (status >= 0) {
        return status;
    }
    if (options.is_system && geteuid() != 0) {
        hs_daemon_log("--system serves all users, which only root can");
        return 1;
    }
    const char *path = choose_path(&options);
    if (!path) {
        hs_daemon_log(HS_ENV_SOCKET " is not the absolute path of a socket, or is too long");
        return 1;
    }
    umask(022);
    hs_daemon_block_signals();
    int r = hs_doorway_open(path, options.is_system, &doorway);
    if (r < 0) {
        return say_why_not(path, r);
    }
    r = hs_daemon_open(&doorway, options.is_system, &daemon);
    if (r < 0) {
        hs_daemon_log("cannot start: %s", strerror(-r));
        return 1;
    }
    hs_daemon_log("ready at %s", daemon.doorway.path);
    r = hs_daemon_run(&daemon);
    hs_daemon_close(&daemon);
    return r < 0 ? 1 : 0;
}
