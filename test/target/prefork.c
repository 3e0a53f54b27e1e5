/*
 * A server with forked workers: prefork PARENT_BYTES WORKERS WORKER_BYTES [alone|together].
 *
 * The parent allocates PARENT_BYTES in blocks of 100 bytes and keeps them. It then forks the
 * workers, each of which allocates WORKER_BYTES in the same way. Together: all live until the last
 * one is ready. Alone: one after the other.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE    __attribute__((noinline))
#define BLOCK_BYTES 100

static void *volatile sink;

static NOINLINE void site_parent(long bytes)
{
    for (long done = 0; done < bytes; done += BLOCK_BYTES) {
        sink = malloc(BLOCK_BYTES);
    }
}

static NOINLINE void site_worker(long bytes)
{
    for (long done = 0; done < bytes; done += BLOCK_BYTES) {
        sink = malloc(BLOCK_BYTES);
    }
}

static int baton[2];

static void be_worker(long bytes, int is_together)
{
    char byte;
    site_worker(bytes);
    if (is_together) {
        close(baton[1]);
        /*
         * Reading ends when the parent and the workers started after this one have closed their
         * ends too.
         */
        while (read(baton[0], &byte, 1) > 0) {
        }
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    int worker_count = argc > 3 ? atoi(argv[2]) : 0;
    int is_together = argc > 4 && strcmp(argv[4], "together") == 0;
    if (pipe(baton) != 0) {
        return 1;
    }
    site_parent(atol(argv[1]));
    for (int i = 0; i < worker_count; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            be_worker(atol(argv[3]), is_together);
        }
        if (!is_together) {
            waitpid(pid, NULL, 0);
        }
    }
    close(baton[1]);
    while (wait(NULL) > 0) {
    }
    return 0;
}
