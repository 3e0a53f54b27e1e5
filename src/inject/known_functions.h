/*
 * The functions of a C library or an allocator in another process, by the ranges of their symbols, and which
 * of them a thread may be in when it is borrowed.
 *
 * A library's symbol table names what it exports. Code between those symbols is internal: in libc it may be the
 * inside of malloc, or of the loader, or harmless; nobody knows.
 *
 * Trust     the tables are hostile: capped, and wrong ranges make wrong answers, nothing worse.
 * Threads   no state.
 * Fails     -ENOMEM, -EBADMSG when the table makes no sense.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "inject/remote_memory.h"
#include "inject/remote_objects.h"

enum hs_function_kind {
    HS_FUNCTION_UNKNOWN, /* internal */
    HS_FUNCTION_PLAIN,   /* exported, and none of the following */
    HS_FUNCTION_MEETING, /* waits for what another thread does, and holds no lock of libc's while it does */
    HS_FUNCTION_WAITING,  /* the same, for a lock */
    HS_FUNCTION_FORBIDDEN /* allocates, loads, forks, begins or ends something */
};

struct hs_known_function {
    uint64_t start_va;
    uint64_t end_va;
    enum hs_function_kind kind;
};

struct hs_known_functions {
    struct hs_known_function *items; /* by address */
    size_t count;
    size_t capacity;
};

/* Adds what `object` exports. */
int hs_known_functions_add(const struct hs_remote_memory *memory,
                           const struct hs_remote_object *object,
                           struct hs_known_functions *functions);
/* To be called when all are added. */
void hs_known_functions_sort(struct hs_known_functions *functions);
void hs_known_functions_deinit(struct hs_known_functions *functions);

enum hs_function_kind hs_known_functions_at(const struct hs_known_functions *functions,
                                            uint64_t va);
