/*
 * The frames of a Perl script, as caller() gives them.
 *
 * The statement that runs is PL_curcop. The context stacks (cxstack, one for each stackinfo) have
 * an entry for each sub, eval, require and format that was entered, with the statement of the
 * caller. An entry without an op to return to was called by C code, in a run loop of its own.
 *
 * Offsets are those of Perl 5.36 with threads. The interpreter's own numbers select them
 * (PL_version, PL_interp_size), and each statement that is read proves them: its op runs
 * Perl_pp_nextstate or Perl_pp_dbstate, or did before it was removed, or it is PL_compiling.
 *
 * See       script_frames.h
 */
#pragma once

#include "client/script/script_frames.h"

/* What is known of a Perl in this process. */
struct hs_perl {
    uint64_t nextstate_va; /* Perl_pp_nextstate */
    uint64_t dbstate_va;   /* Perl_pp_dbstate */
    uint64_t null_va;      /* Perl_pp_null */
};

/* What an object that exports Perl's symbols says of itself. */
struct hs_perl_identity {
    uint8_t revision, version; /* 5 and 36 */
    uint16_t interp_bytes;     /* PL_interp_size */
};

/* Are these offsets known? */
bool hs_perl_is_known(const struct hs_perl_identity *identity);

/* Reports the frames of the thread whose interpreter (PERL_GET_CONTEXT) is at `interp_va`. */
enum hs_script_end hs_perl_read(uint64_t interp_va, struct hs_script_memory *memory,
                                const struct hs_script_sink *sink);

/* Describes one of them; `roots` is a struct hs_perl. */
hs_script_describe_fn hs_perl_describe;
