/*
 * Allocates by itself and on command, and tells what it has allocated: for tests of programs that
 * are linked with the client.
 *
 *     keep N | drop N     allocates N blocks of 100 bytes, or frees as many of them
 *     truth               "LIVE_BYTES LIVE_BLOCKS BYTES BLOCKS" of keep, drop and the constructor
 *     bind INTERVAL PATH  what heapscope_bind() returns; PATH "-": no socket
 *     poll                what heapscope_poll() returns
 *     snapshot NAME       what heapscope_take_snapshot() returns
 *     stats               "ALLOCATED FREED EXACT" of heapscope_get_stats(), or what it returns
 *     close               closes all descriptors from 3 on
 *     fork | join         from here on a child does the commands; until it ends with join
 *     exec                executes itself
 *
 * Each answer is one line. Nothing but these commands allocates.
 */
#include <heapscope/heapscope.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT_MAX 100000

static void *kept[KEPT_MAX];
static long kept_count, made_count;
static void *first;

static void *make(size_t size_bytes)
{
    void *block = malloc(size_bytes);
    __asm__ volatile("" : "+r"(block));
    return block;
}

__attribute__((constructor)) static void before_main(void)
{
    first = make(1000);
}

static void keep(long count)
{
    for (long i = 0; i < count && kept_count < KEPT_MAX; i++) {
        kept[kept_count++] = make(100);
        made_count++;
    }
}

static void drop(long count)
{
    for (long i = 0; i < count && kept_count > 0; i++) {
        free(kept[--kept_count]);
    }
}

/* dprintf(3) would allocate. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (write(STDOUT_FILENO, text, (size_t)len) != len) {
        _exit(4);
    }
}

static int read_line(char *line, size_t bytes)
{
    size_t len = 0;
    while (len + 1 < bytes && read(STDIN_FILENO, line + len, 1) == 1 && line[len] != '\n') {
        len++;
    }
    line[len] = '\0';
    return len > 0;
}

static int bind_with(const char *arg)
{
    char *path;
    struct heapscope_bind_options options = { .interval_bytes = strtoull(arg, &path, 10) };
    options.socket = path[0] == ' ' && strcmp(path, " -") != 0 ? path + 1 : NULL;
    return heapscope_bind(&options);
}

static void tell_stats(void)
{
    struct heapscope_stats stats;
    int err = heapscope_get_stats(&stats, NULL);
    if (err) {
        say("%d\n", err);
    } else {
        say("%llu %llu %llu\n", (unsigned long long)stats.allocated_bytes,
            (unsigned long long)stats.deallocated_bytes, (unsigned long long)stats.is_exact);
    }
}

/* The parent waits for its child, and then goes on. */
static void split(void)
{
    pid_t child = fork();
    if (child == 0) {
        say("%d\n", (int)getpid());
    } else {
        int status;
        waitpid(child, &status, 0);
        say("%d\n", status);
    }
}

int main(int argc, char **argv)
{
    char line[300];
    (void)argc;
    while (read_line(line, sizeof(line))) {
        const char *arg = strchr(line, ' ') ? strchr(line, ' ') + 1 : "";
        int result = 0;
        if (strncmp(line, "keep", 4) == 0) {
            keep(atol(arg));
        } else if (strncmp(line, "drop", 4) == 0) {
            drop(atol(arg));
        } else if (strcmp(line, "truth") == 0) {
            say("%ld %ld %ld %ld\n", kept_count * 100 + 1000, kept_count + 1,
                made_count * 100 + 1000, made_count + 1);
            continue;
        } else if (strncmp(line, "bind", 4) == 0) {
            result = bind_with(arg);
        } else if (strncmp(line, "snapshot", 8) == 0) {
            result = heapscope_take_snapshot(arg);
        } else if (strcmp(line, "poll") == 0) {
            result = heapscope_poll();
        } else if (strcmp(line, "stats") == 0) {
            tell_stats();
            continue;
        } else if (strcmp(line, "close") == 0) {
            for (int fd = 3; fd < 1100; fd++) {
                close(fd);
            }
        } else if (strcmp(line, "fork") == 0) {
            split();
            continue;
        } else if (strcmp(line, "join") == 0) {
            return 0;
        } else if (strcmp(line, "exec") == 0) {
            say("0\n");
            execv("/proc/self/exe", argv);
        }
        say("%d\n", result);
    }
    return 3; /* the end of the commands */
}
