/*
 * Finds which functions of a program belong to an allocator inside it that has names of its own.
 *
 * The functions of an allocator share a prefix: je_malloc, je_free. For a known prefix, the name
 * tells what a function does. With an unknown prefix it may do anything (g_malloc and xmalloc call
 * malloc, and their blocks would be recorded twice), so the user has to name the prefix. Names
 * without a prefix are the C library's names in a program that does not export them.
 *
 * The functions are searched among the program's dynamic symbols, and in its file's symbol table.
 *
 * Holds     each chosen family of names has a number of its own (`set`) below HS_ALLOCATOR_SETS.
 * Trust     memory and file are hostile.
 * Threads   no state.
 * Fails     false, with a message.
 * See       fmt/allocator_functions.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fmt/allocator_functions.h"
#include "inject/remote/remote_memory.h"
#include "inject/remote/remote_objects.h"

#define HS_ALLOCATOR_PREFIX_MAX   24U /* longest prefix that the user may give, in bytes */
#define HS_ALLOCATOR_NAME_BYTES   64U
#define HS_ALLOCATOR_FAMILIES_MAX 6U
/* Given in place of a prefix: do not search for any. */
#define HS_ALLOCATOR_NONE "none"
/* Behind a prefix: the allocator takes its memory from malloc, so that its heap is a carved one. */
#define HS_ALLOCATOR_CARVED ",carved"

struct hs_allocator_symbol {
    struct hs_remote_symbol at;
    bool is_there;
    bool is_twice; /* another function has the same name */
    bool has_copy; /* the compiler has made a copy, which is called in its place */
};

struct hs_allocator_family {
    const char *prefix;
    unsigned whose; /* enum hs_function_whose */
    bool is_chosen; /* it is an allocator, and its calls are to be redirected */
    uint32_t set;   /* the set of hooks that its calls are redirected to */
    /* indexed by enum hs_function_number */
    struct hs_allocator_symbol functions[HS_ALLOCATOR_FUNCTION_COUNT];
};

struct hs_allocator_names {
    struct hs_allocator_family families[HS_ALLOCATOR_FAMILIES_MAX];
    size_t family_count;
    size_t chosen_count;
    /* The numbers of the functions, sorted by name, for a binary search. */
    uint16_t sorted[HS_ALLOCATOR_FUNCTION_COUNT];
};

struct hs_allocator_function {
    const char *name;
    enum hs_function_kind kind;
    unsigned whose;
};

/* Indexed by enum hs_function_number. */
extern const struct hs_allocator_function hs_allocator_functions[HS_ALLOCATOR_FUNCTION_COUNT];

/* Does a call of such a function free an existing block, or replace it by another one? */
bool hs_allocator_is_freeing(enum hs_function_kind kind);

/* Prepares the families to search for. `prefix`: the one that the user named, which must outlive
 * *ret_names; NULL: all known ones. */
void hs_allocator_names_init(const char *prefix, struct hs_allocator_names *ret_names);

/* Takes one function of the program; a function whose name fits no family is ignored. */
void hs_allocator_names_take(struct hs_allocator_names *names, const char *name,
                             const struct hs_remote_symbol *symbol);

/* Chooses among the functions that were taken the families that are allocators. `malloc_va`: the
 * address of the malloc that the program exports, which must belong to each chosen family; 0: it
 * exports none. False, with a message in ret_words: there are too many. */
bool hs_allocator_names_choose(struct hs_allocator_names *names, uint64_t malloc_va,
                               char *ret_words, size_t cap_bytes);

/* Takes all functions of a process's program, from its dynamic symbols and its file. */
void hs_allocator_names_look(pid_t pid, const struct hs_remote_memory *memory,
                             const struct hs_remote_object *program,
                             struct hs_allocator_names *names);
