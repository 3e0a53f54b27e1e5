/*
 * Reading budgets: see budget_opts.h.
 */
#include "cli/budget_opts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"

#define PPM_PER_PERCENT 10000.0

/* "1%", "0.5 %" or "2" in millionths, at least one. */
static bool parse_percent(const char *text, uint64_t *ret_ppm)
{
    char *end;
    /* strtod() would also take hexadecimal numbers, infinity and exponents. */
    if (strspn(text, "0123456789. %") != strlen(text) || text[0] == ' ') {
        return false;
    }
    errno = 0;
    double percent = strtod(text, &end);
    end += strspn(end, " ");
    if (end == text || errno != 0 || strcmp(end, *end == '%' ? "%" : "") != 0 || !(percent > 0) ||
        percent > 100) {
        return false;
    }
    uint64_t ppm = (uint64_t)(percent * PPM_PER_PERCENT + 0.5);
    *ret_ppm = ppm ? ppm : 1;
    return true;
}

static int take_heapprofd(const struct hs_opts_spec *spec, const struct hs_budget_opts *opts)
{
    uint64_t bytes = opts->shmem_bytes;
    if (opts->is_block && opts->is_no_block) {
        return hs_args_fail(spec, "--block-client and --no-block-client cannot be combined");
    }
    if (bytes & (bytes - 1)) {
        return hs_args_fail(spec, "--shmem-size must be a power of two, and a multiple of 4096");
    }
    if (bytes != 0 || opts->is_block || opts->is_no_block) {
        hs_message_info(
            "%s has no effect: heapscope writes each sample directly into shared memory, "
            "and has no buffer that could fill up%s",
            bytes            ? "--shmem-size"
            : opts->is_block ? "--block-client"
                             : "--no-block-client",
            bytes ? "; --max-memory limits the memory of the samples" : "");
    }
    return HS_ARGS_GO_ON;
}

int hs_budget_opts_take(const struct hs_opts_spec *spec, const struct hs_budget_opts *opts,
                        struct hs_budget_limits *ret_limits)
{
    struct hs_budget_limits limits = { .memory_bytes = opts->memory_bytes,
                                       .cpu_ns = opts->cpu_secs * UINT64_C(1000000000) };
    if (opts->overhead && !parse_percent(opts->overhead, &limits.overhead_ppm)) {
        return hs_args_fail(
            spec, "--max-overhead: '%s' is not a percentage above 0 and up to 100; try 1%%",
            opts->overhead);
    }
    int status = take_heapprofd(spec, opts);
    if (status == HS_ARGS_GO_ON) {
        *ret_limits = limits;
    }
    return status;
}
