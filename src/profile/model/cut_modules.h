/*
 * Modules in which stacks end that should go on, and what can be done about it.
 *
 * Threads   constant tables.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/model/amount.h"
#include "trace/unwind_source.h"

struct hs_buf;

/* A module of a process, as of its last dump. */
struct hs_profile_cut_module {
    uint32_t process;
    uint32_t module; /* string id: its path; "[anon]": code made at run time */
    uint8_t reason;  /* enum hs_unwind_reason, or a larger one of a newer version */
    uint64_t stack_count;
    /* What was allocated through these stacks since the start, and what of it lives. */
    double alloc_bytes, alloc_count;
    double live_bytes;
};

/* The reason, for scripts: "other_build". */
const char *hs_cut_reason_name(uint8_t reason);

/* The reason, as a clause about the module: "its debug file is that of another build". */
const char *hs_cut_reason_text(uint8_t reason);

/* Writes what to do, as a clause; nothing if nothing helps. `path` is that of the module. */
void hs_cut_write_remedy(uint8_t reason, const char *path, struct hs_buf *buf);
