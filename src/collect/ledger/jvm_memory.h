/*
 * Memory of a JVM (HotSpot): its heap, its metaspace, its compiled code.
 *
 * The JVM publishes how large these are (jvm_perf_data.h), not where. A row of adjoining mappings
 * is named only if it is exactly as large: the heap and the class space by what they reserve, the
 * rest of the metaspace by the size of its pieces and by what is committed of all. Anonymous memory
 * that is executable is compiled code.
 *
 * Threads   one.
 * Trust     the memory is hostile; a process can only mislead its own user.
 * Fails     -ENOMEM. What the JVM does not publish is not named.
 */
#pragma once

#include "collect/ledger/owned_ranges.h"
#include "collect/ledger/remote_window.h"

/* Adds what is found to `owned`. */
int hs_jvm_memory_find(const struct hs_remote_window *window, const struct hs_address_space *space,
                       struct hs_owned_ranges *owned);

/* The same with what the JVM publishes. */
struct hs_jvm_perf_data;
int hs_jvm_memory_match(const struct hs_jvm_perf_data *data, const struct hs_address_space *space,
                        struct hs_owned_ranges *owned);
