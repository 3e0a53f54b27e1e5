/*
 * Computes the limits of what several processes held together at one moment.
 *
 * Each process has its own peak, at a moment of its own. The sum of the peaks is not what lived at
 * any moment. What is known is when each process began and ended. The most that lived at one moment
 * is therefore at least the largest single peak, and at most the largest sum of the peaks of
 * processes that lived at the same time. When no two of them did, both limits are equal.
 *
 * Of n sampled peaks the largest is often one whose estimate is too high. The lower margins are
 * therefore widened by z(0.025 / n) / 1.96, so that all n hold together in 97.5 % of profiles.
 * Upper margins stay as they are, because the sum of several margins is wider than the margin of
 * the sum. docs/SAMPLING.md derives both.
 *
 * A process that was forked and executed another program within a second is not in the profile, nor
 * is what it held until then.
 *
 * Holds     low_bytes <= high_bytes. Both contain the margins of samples, and the amount by which a
 *           recorded peak may be too low.
 * Threads   pure function.
 * Fails     -ENOMEM
 * See       docs/SAMPLING.md "The peaks of several processes"
 */
#pragma once

#include <stdint.h>

#include "profile/analyse/select.h"

struct hs_peak_overlap {
    double low_bytes, high_bytes;
    /* processes whose peak is or may be above 0; below 2, there is nothing to report */
    uint32_t process_count;
};

/*
 * Computes the limits for a selection that has_peak. A process whose end was not seen, or whose
 * times are not known, is assumed to live on.
 */
int hs_peak_overlap_of(const struct hs_selection *selection, struct hs_peak_overlap *ret_overlap);
