/*
 * Fills names into a profile that was recorded without them.
 *
 * hs_profile_symbolize() asks hs_profile_wanted() which modules and addresses have no names, has
 * the symbolizer look them up, and puts the names in. hs_profile_wanted() is a function of its own
 * because the daemon's finalizer calls it for names that it writes to a file instead.
 *
 * Ensures   afterwards the profile is as if it had been recorded with symbols. A text that is
 *           already among its strings keeps its id, so that two frames of one function still have
 *           equal ids.
 * Threads   no other thread may use the profile at the same time.
 * Fails     -ENOMEM, errors of hs_symbolizer_run(). The profile stays valid, but some frames may
 *           have names and others not.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/model/profile.h"
#include "symbol/symbol_wanted.h"
#include "symbol/symbolizer.h"

/*
 * Adds the addresses that have no names yet, and those of files whose name has no place. Code made
 * at run time belongs to the first process that ran it. 0 or -ENOMEM.
 */
int hs_profile_wanted(const struct hs_profile *profile, struct hs_symbol_wanted *wanted);

/* What was found for one module, for messages. */
struct hs_symbolized_module {
    char *path;
    char *detail; /* the file that the names came from, or that `reason` is about */
    uint8_t *build_id;
    size_t build_id_bytes;
    uint32_t nameless_count; /* frames that have no name now */
    uint32_t reason;         /* enum hs_symbol_reason */
    uint32_t source;         /* enum hs_symbol_source */
    uint32_t pc_count;       /* addresses that were looked up */
    uint32_t named_count;    /* of these, addresses with a function */
    uint32_t lined_count;    /* of these, addresses with a line */
};

struct hs_symbolized {
    struct hs_symbolized_module *modules;
    size_t count;
};

/* Frees the list. */
void hs_symbolized_deinit(struct hs_symbolized *symbolized);

/* Does all three steps. ret_symbolized may be NULL. */
int hs_profile_symbolize(struct hs_profile *profile, const struct hs_symbol_options *options,
                         struct hs_symbolized *ret_symbolized);
