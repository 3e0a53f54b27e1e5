/*
 * Starts `heapscope attach`: see ui_attach.h.
 */
#include "cli/ui/ui_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/ui/ui_capture.h"
#include "cli/ui/ui_settings.h"
#include "rt/base.h"
#include "rt/text.h"
#include "util/write_all.h"

#define HEAD_COUNT 3 /* words in front of the settings */
#define TRIES      150
#define RETRY_MS   100

/* What only a daemon does. */
static const char *const for_daemons[] = { "--all", "--min-memory", "--no-running", "--no-startup",
                                           "--session" };

static bool is_for_daemons(const char *option)
{
    for (size_t i = 0; i < HS_COUNT_OF(for_daemons); i++) {
        size_t bytes = strlen(for_daemons[i]);
        if (hs_text_starts_with(option, for_daemons[i]) &&
            (option[bytes] == '\0' || option[bytes] == '=')) {
            return true;
        }
    }
    return false;
}

bool hs_ui_attach_has_all(const struct hs_ui_settings *settings)
{
    for (size_t i = 0; i < settings->count; i++) {
        if (is_for_daemons(settings->options[i])) {
            return false;
        }
    }
    return true;
}

/* `line` has room for all of them. Returns the exit status. */
static int make_line(const struct hs_ui_settings *settings, char *output, char **line)
{
    static char program[] = "heapscope", name[] = "attach";
    size_t count = 0;
    line[count++] = program;
    line[count++] = name;
    line[count++] = output;
    for (size_t i = 0; i < settings->count; i++) {
        char *option = settings->options[i];
        if (is_for_daemons(option)) {
            hs_message("%.*s needs the daemon\n"
                       "Start it with 'heapscoped &' or 'systemctl --user start heapscope.socket'.",
                       (int)strcspn(option, "="), option);
            return HS_EXIT_STATUS_FAILED;
        }
        line[count++] = hs_text_starts_with(option, "--pid=") ? option + strlen("--pid=") : option;
    }
    line[count] = NULL;
    return HS_EXIT_STATUS_DONE;
}

/* It is the leader of a session of processes of its own, so that it goes on. */
static void execute(char **line, int log_fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct rlimit files;
    if (getrlimit(RLIMIT_FSIZE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_FSIZE, &files);
    }
    if (setsid() >= 0 && null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
        dup2(null, STDOUT_FILENO) >= 0 && dup2(log_fd, STDERR_FILENO) >= 0) {
        execv("/proc/self/exe", line);
    }
    _exit(127);
}

static bool is_listed(const char *session)
{
    char name[] = "list", option[] = "--json", quoted[80];
    char *line[] = { name, option, NULL };
    struct hs_buf out = HS_BUF_INIT;
    snprintf(quoted, sizeof(quoted), "\"%s\"", session);
    bool is_found = hs_ui_capture(hs_cmd_list, 2, line, &out) == HS_EXIT_STATUS_DONE &&
                    strstr(hs_buf_text(&out), quoted) != NULL;
    hs_buf_deinit(&out);
    return is_found;
}

/* Its messages become ours. */
static void pass_on(int log_fd)
{
    char text[4096];
    ssize_t got = pread(log_fd, text, sizeof(text), 0);
    if (got > 0) {
        hs_write_all(STDERR_FILENO, text, (size_t)got);
    }
}

/* What `list` prints when nothing is recorded yet is forgotten. */
static int wait_until_listed(pid_t pid, int log_fd, const char *session)
{
    int status = 0;
    for (int i = 0; i < TRIES; i++) {
        bool has_ended = waitpid(pid, &status, WNOHANG) == pid;
        if (!has_ended && is_listed(session)) {
            hs_ui_capture_forget();
            return HS_EXIT_STATUS_DONE;
        }
        if (has_ended) {
            hs_ui_capture_forget();
            pass_on(log_fd);
            return HS_EXIT_STATUS_FAILED;
        }
        poll(NULL, 0, RETRY_MS);
    }
    hs_ui_capture_forget();
    hs_message("'heapscope attach' (pid %d) does not begin to record", (int)pid);
    return HS_EXIT_STATUS_FAILED;
}

int hs_ui_attach(const struct hs_ui_settings *settings, const char *path, struct hs_buf *session)
{
    char *output = NULL;
    char **line = calloc(settings->count + HEAD_COUNT + 1, sizeof(line[0]));
    int log_fd = memfd_create("heapscope-attach", MFD_CLOEXEC);
    int status = HS_EXIT_STATUS_FAILED;
    if (line && log_fd >= 0 && asprintf(&output, "--output=%s", path) > 0) {
        status = make_line(settings, output, line);
    }
    pid_t pid = status == HS_EXIT_STATUS_DONE ? fork() : -1;
    if (pid == 0) {
        execute(line, log_fd);
    }
    if (pid > 0) {
        hs_buf_printf(session, "attach.%d", (int)pid);
        status = wait_until_listed(pid, log_fd, hs_buf_text(session));
    } else if (status == HS_EXIT_STATUS_DONE) {
        hs_message("cannot start 'heapscope attach': %s", strerror(errno));
        status = HS_EXIT_STATUS_FAILED;
    }
    close(log_fd);
    free(output);
    free(line);
    return status;
}
