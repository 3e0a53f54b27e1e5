/*
 * How much higher than the shown peak the live total can have been.
 *
 * The client marks the peak as a cut when a free is about to lower a total that is the highest so
 * far. With one thread the client knows the total to the byte, so that cut is the maximum. With
 * more threads, each thread keeps a part of the total to itself, of peak_quantum_bytes at most, and
 * a thread that is about to free sees the shared total and its own part. Hence the true maximum is
 * at most
 *
 *     peak_most_bytes  +  the parts of all other threads,
 *
 * and a part is never larger than the quantum, nor than all that its thread ever recorded. It is
 * not known which thread ended the rise: it is one that has freed something, and the one whose own
 * part is smallest gives the safe bound. Old clients do not say peak_most_bytes: they marked a peak
 * only if it was 1/1024 higher (by anything, below 1 MiB), and had parts of up to 1/4096 of it (at
 * least 4096).
 *
 * Ensures   the bound is not below the truth, and is 0 where one thread recorded and freed, and its
 *           peak's records were read.
 * Threads   pure function of what the target wrote; each word is loaded once, none is trusted.
 * See       docs/SAMPLING.md "Live, allocated, peak"
 */
#pragma once

#include <stdint.h>

#include "fmt/region_layout.h"

/* The bound in bytes above `shown_bytes`, which is the live total at the moment that is shown as
 * the peak. */
uint64_t hs_peak_bound(const struct hs_region_control_v1 *control,
                       const struct hs_thread_block_v1 *blocks, uint64_t block_count,
                       double shown_bytes);
