/*
 * Plans which functions of an embedded allocator are redirected to the client's hooks, and with
 * which code.
 *
 * The program's dynamic symbols show what the process uses as its malloc (the linker exports the
 * functions that libc, too, defines). allocator_names.h finds allocators with names of their own,
 * and the symbols of the client that is loaded in the process are the hooks. C++'s operators, where
 * the program exports its own, belong to any allocator: the code that frees may be inlined in them.
 *
 * Several names may be one function. It has one detour then, to the hook of the first name, which
 * is right for all of them as long as they take the same kinds of arguments.
 *
 * Ensures   functions that allocate, except malloc and realloc, may be left out, and their calls
 *           are not seen then. Functions that free must not be left out: a block would seem live
 *           forever.
 * Trust     the process's memory is hostile.
 * Threads   no state.
 * Fails     false, with a message.
 * See       arch/detour.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/inspect/allocator_names.h"
#include "fmt/ctl_layout.h"
#include "inject/remote/remote_maps.h"
#include "inject/remote/remote_memory.h"
#include "inject/remote/remote_objects.h"

#define HS_DETOUR_PLAN_WORDS 200U

struct hs_detour_place {
    const struct hs_remote_memory *memory;
    const struct hs_allocator_names *names; /* after hs_allocator_names_choose */
    bool has_exported_malloc;
    const struct hs_remote_objects *objects; /* the first object is the program */
    const struct hs_remote_object *client;
    uint64_t slots_va;
};

struct hs_detour_plan {
    struct hs_detours_v1 detours;
    uint32_t slots_bytes;
    uint8_t slots[HS_DETOUR_SLOTS_BYTES_MAX];
};

/* The address of the malloc that the program exports, which all its libraries use; 0: it exports
 * none. */
uint64_t hs_detour_exported_malloc(const struct hs_remote_memory *memory,
                                   const struct hs_remote_objects *objects);

/* Why the program's functions must not be redirected: a message, or NULL. */
const char *hs_detour_objection(const struct hs_remote_memory *memory,
                                const struct hs_remote_objects *objects);

/* The address of the `nth` free place from which jumps reach the whole program; 0: there is
 * none. */
uint64_t hs_detour_find_place(const struct hs_remote_maps *maps,
                              const struct hs_remote_object *program, unsigned nth);

/* Plans all detours, as rows and slots for struct hs_detour_request_v1. False, with a message in
 * ret_words: a function that must be redirected cannot be. */
bool hs_detour_make_plan(const struct hs_detour_place *place, struct hs_detour_plan *ret_plan,
                         char ret_words[HS_DETOUR_PLAN_WORDS]);
