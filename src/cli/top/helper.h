/*
 * A heapscope command in the background: `top` attaches and takes snapshots by the commands that do
 * that, and shows what they say.
 *
 * A helper that runs when `top` ends, however that happens, gets SIGINT.
 *
 * Threads   main thread only.
 * Fails     -errno of pipe and fork.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HS_HELPER_ARGS_MAX 12

/* A command, or none: pid 0 and fd -1. */
struct hs_helper {
    pid_t pid;
    int fd;         /* its messages */
    char said[512]; /* the first of them, without "heapscope: " */
    size_t said_bytes;
    bool has_line; /* `said` is a whole line */
    int status;    /* its exit status, once it has ended */
};

#define HS_HELPER_NONE ((struct hs_helper){ .fd = -1 })

/* Starts `heapscope ARGS`, which ends with NULL. 0 or -errno. */
int hs_helper_start(struct hs_helper *helper, const char *const *args);
/* Takes what it says. True: it has ended now, and `said` and `status` are complete. */
bool hs_helper_take(struct hs_helper *helper);
/* Sends it a signal, if it runs. */
void hs_helper_signal(const struct hs_helper *helper, int number);
/* Waits for its end, at most so long; then kills it. */
void hs_helper_end(struct hs_helper *helper, int patience_ms);
