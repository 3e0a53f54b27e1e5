/*
 * A timer that prints a line. See progress.h.
 */
#include "cli/progress.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static const char *expected_line;

static void say(int signal)
{
    (void)signal;
    ssize_t put = write(STDERR_FILENO, expected_line, strlen(expected_line));
    (void)put;
}

static void set_alarm(void (*handler)(int), unsigned delay_s)
{
    const struct itimerval timer = { .it_value.tv_sec = delay_s };
    const struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

void hs_progress_expect(const char *line)
{
    if (isatty(STDERR_FILENO) == 1) {
        expected_line = line;
        set_alarm(say, 1);
    }
}

void hs_progress_over(void)
{
    if (expected_line) {
        set_alarm(SIG_IGN, 0);
        expected_line = NULL;
    }
}
