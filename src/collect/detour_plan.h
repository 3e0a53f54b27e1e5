/*
 * Which functions of an allocator that is part of a program are led to the client's hooks, and by what code.
 *
 * All is found by reading the process's memory: the functions by the program's dynamic symbols (the linker exports
 * what libc, too, defines), the hooks by those of the client that is loaded there.
 *
 * Several names may be one function. It has one detour then, to the hook of the first, which is right for all of them
 * as long as they take their arguments alike.
 *
 * Holds     what allocates but for malloc and realloc may be left out, and is not seen then. Of what frees, nothing
 *           may: a block would stay for ever.
 * Trust     the process's memory is hostile.
 * Threads   no state.
 * Fails     false, with words.
 * See       arch/detour.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fmt/ctl_layout.h"
#include "inject/remote_maps.h"
#include "inject/remote_memory.h"
#include "inject/remote_objects.h"

#define HS_DETOUR_PLAN_WORDS 200U

struct hs_detour_place {
    const struct hs_remote_memory *memory;
    const struct hs_remote_objects *objects; /* the first is the program */
    const struct hs_remote_object *client;
    uint64_t slots_va;
};

/* Has the program itself a malloc, which all others use? */
bool hs_detour_is_wanted(const struct hs_remote_memory *memory,
                         const struct hs_remote_objects *objects);

/* Why it must not be: NULL, or words. */
const char *hs_detour_objection(const struct hs_remote_memory *memory,
                                const struct hs_remote_objects *objects);

/* Where a page is free that all of the program can be reached from, the `nth` of such places; 0: there is none. */
uint64_t hs_detour_find_place(const struct hs_remote_maps *maps,
                              const struct hs_remote_object *program, unsigned nth);

bool hs_detour_plan(const struct hs_detour_place *place, struct hs_detour_request_v1 *ret_request,
                    char ret_words[HS_DETOUR_PLAN_WORDS]);
