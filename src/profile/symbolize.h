/*
 * Filling names into a profile that was recorded without them.
 *
 * hs_profile_wanted() says which modules and addresses have none, the symbolizer looks them up, and
 * hs_profile_take_symbols() puts them in. They are apart so that `symbolize FILE` can write the same
 * tables to a file instead, and so that the command line sees each module's table and can say what
 * is missing. hs_profile_symbolize() does all three.
 *
 * Holds     after it the profile is as if it had been recorded with symbols: a text that is already
 *           among its strings keeps its id, so that two frames of one function still agree.
 * Threads   the profile must not be in use meanwhile.
 * Fails     -ENOMEM, errors of hs_symbolizer_run(). The profile stays whole, maybe half named.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "symbol/symbol_wanted.h"
#include "symbol/symbolizer.h"

/* Adds what has no lines yet. Code made at run time counts for the first process that ran it. */
int hs_profile_wanted(const struct hs_profile *profile, struct hs_symbol_wanted *wanted);

/* `tables` as hs_symbolizer_run() gave them for the requests of `wanted`. */
int hs_profile_take_symbols(struct hs_profile *profile, const struct hs_symbol_wanted *wanted,
                            const struct hs_symbol_table *tables);

/* What became of one module, for messages. */
struct hs_symbolized_module {
    char *path;
    char *detail;         /* the file that the names came from, or that the reason is about */
    uint32_t reason;      /* enum hs_symbol_reason */
    uint32_t source;      /* enum hs_symbol_source */
    uint32_t pc_count;    /* addresses that were looked up, */
    uint32_t named_count; /* that have a function, */
    uint32_t lined_count; /* and a line */
};

struct hs_symbolized {
    struct hs_symbolized_module *modules;
    size_t count;
};

void hs_symbolized_deinit(struct hs_symbolized *symbolized);

/* All of it. ret_symbolized may be NULL. */
int hs_profile_symbolize(struct hs_profile *profile, const struct hs_symbol_options *options,
                         struct hs_symbolized *ret_symbolized);
