/*
 * Measures how long a command takes from its start to its end when it does next to nothing.
 *
 *     startup COUNT COMMAND [ARGS]
 *
 * Runs the command COUNT times and prints the minimum and the median of the wall time in
 * milliseconds. The command is started by vfork, so that the size of this program does not count.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    size_t count = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (count == 0 || count > 100000) {
        fputs("usage: startup COUNT COMMAND [ARGS]\n", stderr);
        return 2;
    }
    double *ms = calloc(count, sizeof(*ms));
    for (size_t i = 0; ms && i < count; i++) {
        pid_t pid;
        int status = -1;
        double before = now_ms();
        int err = posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ);
        if (err || waitpid(pid, &status, 0) != pid || status != 0) {
            fprintf(stderr, "startup: %s: %s\n", argv[2], err ? strerror(err) : "failed");
            return 1;
        }
        ms[i] = now_ms() - before;
    }
    if (ms) {
        qsort(ms, count, sizeof(*ms), compare);
        printf("%.3f %.3f\n", ms[0], ms[count / 2]);
    }
    free(ms);
    return 0;
}
