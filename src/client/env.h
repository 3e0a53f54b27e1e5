/*
 * What the client was asked to do: the variables of fmt/ctl_layout.h.
 *
 * The first allocation may come before the C library has set up `environ`, so the variables are read
 * from where the kernel put them.
 *
 * Threads   once, at start. The strings stay where they are: the process's own environment.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hs_env {
    const char *collector;      /* NULL: none */
    const char *socket;         /* path of a daemon's socket; NULL: none named */
    const char *runtime_folder; /* of the user; NULL: unknown */
    bool is_profileable;        /* not: nothing is recorded, and nobody knows of it */
    bool is_willing;            /* it said that it may be */
    uint64_t interval_bytes;    /* 0: none, or not a number */
    uint64_t seed;
    bool has_seed;
    uint32_t root_pid;   /* of the process that a collector has started; 0: unknown */
    uint32_t follow_pid; /* 0: every process that inherits the environment records */
    const char *exec_path;
    int argc; /* 0: unknown */
    char *const *argv;
};

void hs_env_read(struct hs_env *ret_env);
