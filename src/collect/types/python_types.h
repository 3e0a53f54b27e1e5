/*
 * Which CPython type the object in a block has.
 *
 * An object is { reference count, type ... }, and a type is an object as well: its own type is
 * `type` or a class derived from it, and the type of `type`, PyType_Type, is itself. Before an
 * object that the garbage collector tracks are two words of its list, and before these, since
 * CPython 3.11, two more where the type's flags say so. The flags also say which of these three
 * forms the objects of a type have, so that a block is taken for an object only if it has the form
 * of its type.
 *
 * Builds of CPython with other layouts (free-threaded, Py_TRACE_REFS) are not recognized: their
 * PyType_Type does not point to itself at that place. Where PYTHONMALLOC=debug puts two words
 * before each block, no object is at its place, and none is recognized.
 *
 * Trust     the memory is hostile: each step is bounded.
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/types/type_memory.h"
#include "collect/types/type_names.h"

/* How many words of a block the search uses. */
#define HS_PYTHON_HEAD_WORDS 6U

/* What is known of an address that may be that of a type. */
struct hs_python_type {
    uint32_t type_idx; /* 0: it is no type */
    uint32_t flags;
    uint64_t object_bytes; /* that an object has at least, without the words before it */
};

/* So many addresses that were seen are found without a search. */
#define HS_PYTHON_RECENT 256U

struct hs_python_recent {
    uint64_t va;
    struct hs_python_type type;
};

struct hs_python_types {
    const struct hs_type_memory *memory;
    struct hs_type_names *names;
    uint64_t root_va; /* PyType_Type; 0: the process has none that is known */
    struct hs_intern_array seen;
    struct hs_python_type *types; /* of each address that was seen */
    struct hs_python_recent recent[HS_PYTHON_RECENT];
};

/* Looks for PyType_Type. `memory` and `names` must outlive the table. */
void hs_python_types_init(struct hs_python_types *python, const struct hs_type_memory *memory,
                          struct hs_type_names *names);
void hs_python_types_deinit(struct hs_python_types *python);

/* The type of the object in a block of `size_bytes` that begins with `words`. `ret_idx`: 0 if there
 * is none. */
int hs_python_types_find(struct hs_python_types *python, const uint64_t words[HS_PYTHON_HEAD_WORDS],
                         unsigned word_count, uint64_t size_bytes, uint32_t *ret_idx);
