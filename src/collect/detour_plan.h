/*
 * Which functions of an allocator that is part of a program are led to the client's hooks, and by what code.
 *
 * What the process uses as its malloc is found by the program's dynamic symbols (the linker exports what libc, too,
 * defines), what goes by names of its own by allocator_names.h, the hooks by the symbols of the client that is loaded
 * there. C++'s operators, where the program exports its own, belong to either: what frees may be inlined there.
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

#include "collect/allocator_names.h"
#include "fmt/ctl_layout.h"
#include "inject/remote_maps.h"
#include "inject/remote_memory.h"
#include "inject/remote_objects.h"

#define HS_DETOUR_PLAN_WORDS 200U

struct hs_detour_place {
    const struct hs_remote_memory *memory;
    const struct hs_allocator_names *names; /* chosen */
    bool has_exported_malloc;
    const struct hs_remote_objects *objects; /* the first is the program */
    const struct hs_remote_object *client;
    uint64_t slots_va;
};

struct hs_detour_plan {
    struct hs_detours_v1 detours;
    uint32_t slots_bytes;
    uint8_t slots[HS_DETOUR_SLOTS_BYTES_MAX];
};

/* The program's own malloc, which all others use; 0: it has none. */
uint64_t hs_detour_exported_malloc(const struct hs_remote_memory *memory,
                                   const struct hs_remote_objects *objects);

/* Why it must not be: NULL, or words. */
const char *hs_detour_objection(const struct hs_remote_memory *memory,
                                const struct hs_remote_objects *objects);

/* Where room is free that all of the program can be reached from, the `nth` of such places; 0: there is none. */
uint64_t hs_detour_find_place(const struct hs_remote_maps *maps,
                              const struct hs_remote_object *program, unsigned nth);

bool hs_detour_make_plan(const struct hs_detour_place *place, struct hs_detour_plan *ret_plan,
                         char ret_words[HS_DETOUR_PLAN_WORDS]);
