/*
 * Where the writable data of glibc is in another process, and which release of glibc it is.
 *
 * Threads   one.
 * Fails     false: the process has no glibc that could be found, as with a program that is linked
 *           statically with another C library.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/ledger/address_space.h"

struct hs_glibc_place {
    uint64_t data_va, data_end_va;
    unsigned major, minor; /* 0.0: unknown */
};

/* Finds it in `pid`, whose mappings are `space`. */
bool hs_glibc_place_find(pid_t pid, const struct hs_address_space *space,
                         struct hs_glibc_place *ret_place);
