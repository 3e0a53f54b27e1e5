/*
 * The client's settings in the environment: the variables of fmt/ctl_layout.h.
 *
 * The first allocation may come before the C library has set up `environ`, so the variables are
 * read from the initial stack, where the kernel has put them.
 *
 * Threads   once, at start. The strings are not copied: they lie in the process's own environment.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What the environment says. */
struct hs_env {
    const char *collector; /* NULL: none */
    const char *socket;    /* path of a daemon's socket; NULL: none named */
    bool is_chosen;        /* the program has chosen the socket, or checked where it comes from */
    const char *runtime_folder; /* of the user; NULL: unknown */
    /* false: nothing is recorded, and the process announces itself to no collector */
    bool is_profileable;
    bool is_willing;         /* the environment says that the process may be profiled */
    const char *heaps;       /* rules; NULL: all heaps are recorded */
    uint64_t interval_bytes; /* 0: none, or not a number */
    uint64_t seed;
    bool has_seed;
    uint32_t root_pid;   /* of the process that a collector has started; 0: unknown */
    uint32_t follow_pid; /* 0: every process that inherits the environment records */
    const char *exec_path;
    int argc; /* 0: unknown */
    char *const *argv;
};

/* Reads the variables. */
void hs_env_read(struct hs_env *ret_env);

/* The seed of this process's random numbers. One that the user gave is that of the first process.
 * All others that inherit it add how many pids they are away from that process: each draws numbers
 * of its own, and the same ones when pids are given out in the same order. */
uint64_t hs_env_seed(const struct hs_env *env);
