/*
 * From a code address to its frame description entry (FDE), in .eh_frame or .debug_frame.
 *
 * .eh_frame_hdr holds a table sorted by address: finding an FDE takes a binary search, and one
 * entry is parsed. Without the table the section is read from its start, which costs ten
 * nanoseconds an entry, once for each rule. A table from elsewhere (unwind_table.h) is tried last;
 * it is searched in the same way.
 *
 * Holds     every offset, length and count found in the bytes is checked before use; an entry that
 *           extends beyond its span is refused (-EBADMSG). Loops are bounded by the size of the
 *           span.
 * See       docs/UNWINDING.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rt/cursor.h"
#include "unwind/module.h"

/* A parsed common information entry. */
struct hs_cfi_cie {
    uint64_t code_align;
    int64_t data_align;
    struct hs_cursor insns; /* the initial instructions */
    uint8_t pointer_enc;    /* of addresses in the FDEs */
    bool has_aug_data;      /* FDEs have a length-prefixed blob before their instructions */
    bool is_signal;         /* its frames were interrupted by a signal, not left by a call */
};

/* A parsed frame description entry. */
struct hs_cfi_fde {
    uint64_t start_va;
    uint64_t end_va;
    struct hs_cfi_cie cie;
    struct hs_cursor insns;
    uint64_t abs_bias;        /* for DW_CFA_set_loc */
    struct hs_cursor section; /* the whole section: expressions are named by their offset in it */
};

/* Finds the FDE for `va`. 0: *ret_fde covers va. -ENOENT: no FDE does. -EBADMSG: the bytes are
 * invalid. */
int hs_eh_find(const struct hs_unwind_module *module, uint64_t va, struct hs_cfi_fde *ret_fde);

/* Called for each FDE: the link-time address of its code, the length of that, and where the FDE
 * begins in the section. 0: go on; another result ends the pass and becomes its result. */
typedef int hs_eh_each_fn(void *ctx, uint64_t start_sva, uint64_t length_bytes, uint64_t fde_off);

/* Reads all FDEs of a section in a file, whose `va` is its link-time address. FDEs whose CIE is not
 * understood are left out. 0, -EBADMSG, or what `on_fde` returned. */
int hs_eh_each(const struct hs_span *section, bool is_debug, hs_eh_each_fn *on_fde, void *ctx);
