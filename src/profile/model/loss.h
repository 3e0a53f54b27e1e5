/*
 * Names and human-readable texts of what can be missing from a profile.
 *
 * Names do not change between versions, because scripts look for them. A text says what happened
 * and what it means for the figures.
 *
 * Threads   constant tables.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/region_layout.h"
#include "profile/model/profile.h"
#include "trace/refusal.h"

struct hs_buf;
struct hs_builder;

struct hs_loss_text {
    const char *name;
    const char *text;
    bool is_serious; /* figures are wrong, not only stacks cut short */
    bool is_refusal;
};

enum hs_load_loss {
    /* of heapscope's recorder, beyond enum hs_loss */
    HS_LOAD_LOSS_BAD_ELEMENTS,
    HS_LOAD_LOSS_SCOPES,
    HS_LOAD_LOSS_PYTHON_UNKNOWN,
    HS_LOAD_LOSS_PYTHON_REFUSED,
    HS_LOAD_LOSS_JAVASCRIPT,
    HS_LOAD_LOSS_PERL,
    HS_LOAD_LOSS_PHP,
    HS_LOAD_LOSS_RUBY,
    HS_LOAD_LOSS_JAVA_REFUSED,
    /* of heapprofd */
    HS_LOAD_LOSS_OVERRUN,
    HS_LOAD_LOSS_CORRUPTED,
    HS_LOAD_LOSS_GUARDRAIL,
    HS_LOAD_LOSS_REJECTED,
    HS_LOAD_LOSS_CLIENT_ERROR,
    HS_LOAD_LOSS_UNWINDING,
    /* of the file */
    HS_LOAD_LOSS_TRUNCATED,
    HS_LOAD_LOSS_SKIPPED_BYTES,
    HS_LOAD_LOSS_BAD_PACKETS,
    HS_LOAD_LOSS_COMPRESSION,
    HS_LOAD_LOSS_TOO_BIG,
    HS_LOAD_LOSS_DUMPS,
    HS_LOAD_LOSS_INCOMPLETE_DUMPS,
    HS_LOAD_LOSS_MISSING_PACKETS,
    HS_LOAD_LOSS_FALLING,
    HS_LOAD_LOSS_UNRESOLVED,
    HS_LOAD_LOSS_THINNED,
    HS_LOAD_LOSS_BAD_RECORDS,
    HS_LOAD_LOSS_BAD_LINES,
    HS_LOAD_LOSS_NO_ALLOC,
    HS_LOAD_LOSS_NO_LIVE,
    HS_LOAD_LOSS_N,
};

/* What the client lost; `loss` is an enum hs_loss. Unknown values have a text too. */
struct hs_loss_text hs_loss_of_client(uint32_t loss);
/* Why a stack was cut short; `end` is an enum hs_stack_end other than HS_STACK_END. */
struct hs_loss_text hs_loss_of_stack_end(uint32_t end);
/* What is missing from a file. */
struct hs_loss_text hs_loss_of_load(enum hs_load_loss loss);
/*
 * Why processes were not profiled; `refusal` is an enum hs_refusal, not HS_REFUSAL_NONE. Unknown
 * values have a text too.
 */
struct hs_loss_text hs_loss_of_refusal(uint32_t refusal);

/* The reason for one process, as a clause: "it belongs to another user". */
const char *hs_loss_refusal_reason(uint32_t refusal);

/* Stacks that were unwound by frame pointers through code without unwind information. */
struct hs_loss_text hs_loss_of_guess(bool is_jit);
/* Writes the text of that loss for one module. */
void hs_loss_write_guess(bool is_jit, const char *module, struct hs_buf *buf);

/* Stacks whose middle is missing: see cut_stacks.h. */
struct hs_loss_text hs_loss_of_cut_stacks(void);

/* Was this found when the file was read? */
bool hs_loss_is_of_file(const struct hs_profile *profile, enum hs_load_loss loss);

/* Adds a loss to the profile. Does nothing when count is 0. */
void hs_loss_add(struct hs_builder *builder, uint32_t process, struct hs_loss_text text,
                 uint64_t count);

/*
 * The same for a loss of `count` samples, or walks of stacks, which stand for `bytes` and `allocs`.
 * `allocs` 0: not known.
 */
void hs_loss_add_weighed(struct hs_builder *builder, uint32_t process, struct hs_loss_text text,
                         enum hs_loss_unit unit, uint64_t count, double bytes, double allocs);

/*
 * Writes the text and the amount of a loss: "allocations not recorded (...): about 558,000
 * allocations, 35.7 MiB (5,592 samples)". `alloc` is everything that was allocated, and lets the
 * text say which share had its stack cut short; NULL: the text does not say it.
 */
void hs_loss_describe(const struct hs_profile *profile, const struct hs_profile_loss *loss,
                      const struct hs_amount *alloc, struct hs_buf *buf);
