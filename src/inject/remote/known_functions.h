/*
 * The functions of a C library or an allocator in another process, by the address ranges of their
 * symbols, and in which of them a thread may be when it is borrowed.
 *
 * A library's dynamic symbol table names what the library exports. Code between those symbols is
 * internal: in libc it may belong to malloc, or to the loader, or be harmless. The table does not
 * say.
 *
 * Trust     the tables are hostile: their sizes are capped, and wrong ranges lead to wrong answers,
 *           to nothing worse.
 * Threads   no state.
 * Fails     -ENOMEM; -EBADMSG when the table makes no sense.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "inject/remote/remote_memory.h"
#include "inject/remote/remote_objects.h"

enum hs_function_kind {
    HS_FUNCTION_UNKNOWN,  /* internal */
    HS_FUNCTION_PLAIN,    /* exported, and of none of the following kinds */
    HS_FUNCTION_MEETING,  /* waits for another thread, and holds no lock of libc meanwhile */
    HS_FUNCTION_WAITING,  /* the same, but waits for a lock */
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

/* Adds the functions that `object` exports. 0 or see Fails. */
int hs_known_functions_add(const struct hs_remote_memory *memory,
                           const struct hs_remote_object *object,
                           struct hs_known_functions *functions);
/* The caller calls this once, after the last hs_known_functions_add and before
 * hs_known_functions_at. */
void hs_known_functions_sort(struct hs_known_functions *functions);
/* Frees the array. */
void hs_known_functions_deinit(struct hs_known_functions *functions);

/* The kind of the function that contains `va`; HS_FUNCTION_UNKNOWN when no symbol covers it. */
enum hs_function_kind hs_known_functions_at(const struct hs_known_functions *functions,
                                            uint64_t va);
