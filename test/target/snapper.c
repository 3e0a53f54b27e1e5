/*
 * Takes named snapshots of itself. Reads commands from standard input, one a line, and answers each
 * with a line:
 *
 *     add N SIZE      allocates N blocks of SIZE bytes in add_blocks()
 *     drop N          frees the last N of them
 *     take NAME       takes a snapshot; the answer is what the call returned, and milliseconds
 *     race N          N times: one block more, a snapshot "race I", then other blocks at once
 *     fork NAME       the child takes a snapshot; the answer is what its call returned
 *     vfork NAME      the same in a vforked child
 *     threads N       N threads take a snapshot each, at the same time: "thread I"
 *     kill SIGNAL     the process sends itself a signal
 *     exec            executes itself again
 *     secret          the process is not dumpable from now on
 *     sandbox         installs a seccomp filter that allows everything
 *
 * With arguments it makes those commands, one for each argument, and ends.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS_MAX 100000

typedef int take_fn(const char *name);

static void *blocks[BLOCKS_MAX];
static int block_count;

static int look_into(struct dl_phdr_info *info, size_t bytes, void *ctx)
{
    take_fn **ret_found = ctx;
    (void)bytes;
    void *handle = info->dlpi_name[0] ? dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD) : NULL;
    *ret_found = handle ? (take_fn *)dlsym(handle, "heapscope_take_snapshot_v1") : NULL;
    return *ret_found != NULL;
}

/* An attached client is not where dlsym(RTLD_DEFAULT) looks. */
static take_fn *find(void)
{
    take_fn *found = (take_fn *)dlsym(RTLD_DEFAULT, "heapscope_take_snapshot_v1");
    if (!found) {
        dl_iterate_phdr(look_into, &found);
    }
    return found;
}

static int take(const char *name)
{
    take_fn *call = find();
    return call ? call(name) : -1000;
}

static __attribute__((noinline)) void add_blocks(int count, size_t size_bytes)
{
    for (int i = 0; i < count && block_count < BLOCKS_MAX; i++) {
        blocks[block_count] = malloc(size_bytes);
        memset(blocks[block_count++], 1, size_bytes);
    }
}

static void drop(int count)
{
    while (count-- > 0 && block_count > 0) {
        free(blocks[--block_count]);
    }
}

/* What follows a call must not be in its snapshot. */
static __attribute__((noinline)) int race(int count)
{
    take_fn *call = find();
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "race %d", i);
        add_blocks(1, 1000);
        char *freed_after = malloc(500000);
        freed_after[i] = 1;
        int r = call ? call(name) : -1000;
        freed_after[i + 1] = freed_after[i];
        free(freed_after);
        void *after[100];
        for (int k = 0; k < 100; k++) {
            after[k] = memset(malloc(10000), i, 10000);
        }
        for (int k = 0; k < 100; k++) {
            free(after[k]);
        }
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

static void *take_in_thread(void *arg)
{
    char name[32];
    snprintf(name, sizeof(name), "thread %d", (int)(intptr_t)arg);
    return (void *)(intptr_t)take(name);
}

static int take_in_threads(int count)
{
    pthread_t threads[64];
    int bad_count = 0;
    for (int i = 0; i < count; i++) {
        pthread_create(&threads[i], NULL, take_in_thread, (void *)(intptr_t)i);
    }
    for (int i = 0; i < count; i++) {
        void *result;
        pthread_join(threads[i], &result);
        bad_count += result != NULL;
    }
    return bad_count;
}

/* The negative result of a child, in its exit status. */
static int result_of(pid_t pid)
{
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -2000;
}

static int sandbox(void)
{
    struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
    struct sock_fprog program = { .len = 1, .filter = all };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int obey(char *line)
{
    char *rest = strchr(line, ' ');
    int number = rest ? atoi(rest) : 0;
    if (strncmp(line, "take ", 5) == 0) {
        return take(line + 5);
    }
    if (strncmp(line, "add ", 4) == 0) {
        add_blocks(number, (size_t)atoi(strchr(rest + 1, ' ')));
    } else if (strncmp(line, "drop ", 5) == 0) {
        drop(number);
    } else if (strncmp(line, "race ", 5) == 0) {
        return race(number);
    } else if (strncmp(line, "threads ", 8) == 0) {
        return take_in_threads(number);
    } else if (strncmp(line, "fork ", 5) == 0) {
        pid_t pid = fork();
        if (pid == 0) {
            _exit(-take(line + 5));
        }
        return result_of(pid);
    } else if (strncmp(line, "vfork ", 6) == 0) {
        take_fn *call = find();
        pid_t pid = vfork();
        if (pid == 0) {
            _exit(-call(line + 6));
        }
        return result_of(pid);
    } else if (strncmp(line, "kill ", 5) == 0) {
        raise(number);
    } else if (strcmp(line, "exec") == 0) {
        execl("/proc/self/exe", "snapper", NULL);
    } else if (strcmp(line, "secret") == 0) {
        return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    } else if (strcmp(line, "sandbox") == 0) {
        return sandbox();
    }
    return 0;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    static char line[256];
    setvbuf(stdin, NULL, _IONBF, 0);
    for (int i = 1; i < argc; i++) {
        int r = obey(argv[i]);
        printf("%s: %d\n", argv[i], r);
        fflush(stdout);
    }
    if (argc > 1) {
        return 0;
    }
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\n")] = '\0';
        uint64_t begin_ms = now_ms();
        int r = obey(line);
        printf("%d %d\n", r, (int)(now_ms() - begin_ms));
        fflush(stdout);
    }
    return 0;
}
