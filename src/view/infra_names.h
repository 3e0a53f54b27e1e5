/*
 * Names by which a MemoryInfra trace tells heaps and processes apart.
 *
 * The heap libc.malloc is called "malloc", as in Chrome. A slash in a name would make a tree, and
 * "global" and "tracing" have a meaning of their own. Such names are changed, and names that would
 * be equal then.
 *
 * Ensures   each heap has another name, and each process another pid.
 * Threads   read only after init.
 * Fails     -ENOMEM.
 * See       memory_infra.h
 */
#pragma once

#include <stdint.h>

#include "profile/model/profile.h"

struct hs_json;
struct hs_selection;

struct hs_infra_names {
    const struct hs_profile *profile;
    char **heaps;   /* by index in profile->heaps */
    uint64_t *pids; /* by index in profile->processes */
};

/* Finds the names. Returns 0 or -ENOMEM; deinit is needed in any case. */
int hs_infra_names_init(struct hs_infra_names *names, const struct hs_profile *profile);
/* Frees the memory. */
void hs_infra_names_deinit(struct hs_infra_names *names);

/* The name of a heap. Belongs to `names`. */
const char *hs_infra_heap_name(const struct hs_infra_names *names, uint32_t heap);
/* The pid of a process. */
uint64_t hs_infra_pid(const struct hs_infra_names *names, uint32_t process);

/* Writes the events that name a process. */
void hs_infra_write_process(const struct hs_infra_names *names, uint32_t process,
                            struct hs_json *json);
