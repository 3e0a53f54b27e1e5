/*
 * The server of `ui`: see ui_serve.h.
 */
#include "cli/ui/ui_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/end_signals.h"
#include "cli/message.h"

int hs_ui_serve_open(const struct hs_http_owner *owner, uint16_t port,
                     struct hs_http_server **ret_server)
{
    int r = hs_http_server_open(owner, port, ret_server);
    /* From here on signals wait until the server reads them. */
    if (r == 0 && hs_end_signals_open() < 0) {
        r = -errno;
        hs_http_server_close(*ret_server);
        *ret_server = NULL;
    }
    if (r == 0) {
        return HS_EXIT_STATUS_DONE;
    }
    if (r == -ENOPKG) {
        hs_message("the library libmicrohttpd is missing, which 'ui' needs\n"
                   "On Debian: apt-get install libmicrohttpd12");
    } else if (r == -EADDRINUSE) {
        hs_message("port %u of 127.0.0.1 is in use by another program\n"
                   "'ss -ltnp sport = :%u' shows which one; end it, and try again.",
                   port, port);
    } else {
        hs_message("cannot listen at 127.0.0.1: %s", strerror(-r));
    }
    return HS_EXIT_STATUS_FAILED;
}

/* --- the browser ------------------------------------------------------------------------------ */

static bool has_display(void)
{
    const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (x11 && x11[0]) || (wayland && wayland[0]);
}

/* xdg-open starts the user's browser, and ends. It is a grandchild, so that nothing has to wait
 * for it. */
static void open_browser(const char *address)
{
    pid_t pid = fork();
    if (pid != 0) {
        waitpid(pid, NULL, 0);
        return;
    }
    if (fork() != 0) {
        _exit(0);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (setsid() < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(null, STDERR_FILENO) < 0) {
        _exit(1);
    }
    execlp("xdg-open", "xdg-open", address, (char *)NULL);
    _exit(127);
}

void hs_ui_serve_tell(const struct hs_http_server *server, const char *address, bool is_opening)
{
    unsigned port = hs_http_server_port(server);
    puts(address);
    hs_args_finish_output();
    if (is_opening && has_display()) {
        open_browser(address);
        hs_message_info("Opening a browser; if none opens, open the address above. Ctrl-C ends.");
    } else {
        hs_message_info("Open the address above in a browser. If your browser is on another "
                        "computer, run there:\n"
                        "  ssh -L %u:127.0.0.1:%u HOST\n"
                        "with the name of this computer for HOST, and open the address there. "
                        "Ctrl-C ends.",
                        port, port);
    }
}

int hs_ui_serve_run(struct hs_http_server *server, bool *ret_is_signal)
{
    int signal_fd = hs_end_signals_open();
    int r = 1;
    *ret_is_signal = false;
    while (r == 1 && !*ret_is_signal) {
        r = hs_http_server_run(server, signal_fd);
        *ret_is_signal = r == 1 && hs_end_signals_read() != HS_END_NONE;
    }
    if (r < 0) {
        hs_message("the server failed: %s", strerror(-r));
    }
    return r < 0 ? HS_EXIT_STATUS_FAILED : HS_EXIT_STATUS_DONE;
}
