/*
 * A timer that prints a line, and a line that counts. See progress.h.
 */
#include "cli/progress.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "rt/clock.h"

#define NS_PER_S UINT64_C(1000000000)
/* Clears the line on which the cursor is. */
#define CLEAR "\r\033[K"

static const char *expected_line;
static uint64_t begun_ns, shown_ns;

static void put(const char *text)
{
    ssize_t done = write(STDERR_FILENO, text, strlen(text));
    (void)done;
}

static void say(int signal)
{
    (void)signal;
    put(expected_line);
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
        begun_ns = hs_clock_ns(CLOCK_MONOTONIC);
        shown_ns = begun_ns + NS_PER_S;
        set_alarm(say, 1);
    }
}

void hs_progress_step(uint64_t done_count, uint64_t all_count)
{
    uint64_t now_ns = expected_line ? hs_clock_ns(CLOCK_MONOTONIC) : 0;
    if (!expected_line || now_ns < shown_ns + NS_PER_S || done_count == 0 || all_count == 0) {
        return;
    }
    char text[160];
    uint64_t took_s = (now_ns - begun_ns) / NS_PER_S;
    double left_s = (double)took_s * (double)(all_count - done_count) / (double)done_count;
    snprintf(text, sizeof(text), CLEAR "heapscope: %llu of %llu done, about %.0f s left",
             (unsigned long long)done_count, (unsigned long long)all_count, left_s);
    put(text);
    shown_ns = now_ns;
}

void hs_progress_over(void)
{
    if (expected_line) {
        set_alarm(SIG_IGN, 0);
        if (shown_ns > begun_ns + NS_PER_S) {
            put(CLEAR);
        }
        expected_line = NULL;
    }
}
