/*
 * Which functions of a program are those of an allocator in it that goes by names of its own.
 *
 * An allocator's functions have a prefix in common: je_malloc, je_free. With a known prefix they are what they are called.
 * With another they may be anything (g_malloc and xmalloc hand on to malloc, whose blocks would be told twice): the
 * user has to say it. Without a prefix they are the C library's names in a program that keeps them to itself.
 *
 * They are looked for among the program's dynamic symbols, and in its file's symbol table.
 *
 * Holds     of what is chosen, each set of names has a number of its own below HS_ALLOCATOR_SETS.
 * Trust     memory and file are hostile.
 * Threads   no state.
 * Fails     false, with words.
 * See       fmt/allocator_functions.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fmt/allocator_functions.h"
#include "inject/remote_memory.h"
#include "inject/remote_objects.h"

#define HS_ALLOCATOR_PREFIX_MAX   24U /* bytes of one that the user gives */
#define HS_ALLOCATOR_NAME_BYTES   64U
#define HS_ALLOCATOR_FAMILIES_MAX 6U
/* In place of a prefix: none is to be looked for. */
#define HS_ALLOCATOR_NONE "none"

struct hs_allocator_symbol {
    struct hs_remote_symbol at;
    bool is_there;
    bool is_twice; /* there is another one of this name */
    bool has_copy; /* of the compiler's making, which is called in its place */
};

struct hs_allocator_family {
    const char *prefix;
    unsigned whose; /* enum hs_function_whose */
    bool is_chosen; /* it is an allocator, and to be led to us: */
    uint32_t set;   /* to these hooks */
    struct hs_allocator_symbol functions[HS_ALLOCATOR_FUNCTION_COUNT]; /* by their numbers */
};

struct hs_allocator_names {
    struct hs_allocator_family families[HS_ALLOCATOR_FAMILIES_MAX];
    size_t family_count;
    size_t chosen_count;
    /* For a quick search; by their names. */
    uint16_t sorted[HS_ALLOCATOR_FUNCTION_COUNT];
};

struct hs_allocator_function {
    const char *name;
    enum hs_function_kind kind;
    unsigned whose;
};

/* By their numbers. */
extern const struct hs_allocator_function hs_allocator_functions[HS_ALLOCATOR_FUNCTION_COUNT];

/* Is a block of before gone, or another one, when it has been called? */
bool hs_allocator_is_freeing(enum hs_function_kind kind);

/* `prefix`: the user's, which must outlive *ret_names; NULL: the known ones. */
void hs_allocator_names_init(const char *prefix, struct hs_allocator_names *ret_names);

/* One function of the program; those with other names are passed over. */
void hs_allocator_names_take(struct hs_allocator_names *names, const char *name,
                             const struct hs_remote_symbol *symbol);

/* Of all that were taken: which are it? `malloc_va`: what the program exports as malloc, of which they must be part; 0:
 * it does not. */
bool hs_allocator_names_choose(struct hs_allocator_names *names, uint64_t malloc_va,
                               char *ret_words, size_t cap_bytes);

/* All of it, for a process: `names` is filled from its program. */
void hs_allocator_names_look(pid_t pid, const struct hs_remote_memory *memory,
                             const struct hs_remote_object *program,
                             struct hs_allocator_names *names);
