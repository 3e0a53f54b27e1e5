/*
 * Memory of a JVM (HotSpot): its heap, its metaspace, its compiled code, and its tables.
 *
 * Two things tell where they are. The JVM has objects that describe what it has reserved
 * (jvm_spaces.h). And it publishes how large its parts are (jvm_perf_data.h), not where: a row of
 * adjoining mappings is named only if it is exactly as large; the heap and the class space by what
 * they reserve, the rest of the metaspace by the size of its pieces and by what is committed of
 * all. Anonymous memory that is executable is compiled code.
 *
 * Threads   one.
 * Trust     the memory is hostile; a process can only mislead its own user.
 * Fails     -ENOMEM, or -errno of reading the pagemap. What the JVM does not tell is not named.
 */
#pragma once

#include "collect/ledger/jvm_spaces.h"
#include "collect/ledger/owned_ranges.h"
#include "collect/ledger/remote_window.h"

/* Adds what is found to `owned`. */
int hs_jvm_memory_find(const struct hs_remote_window *window, int pagemap_fd,
                       const struct hs_address_space *space, struct hs_owned_ranges *owned);

/* The same with what the JVM publishes, and with what its objects describe. */
struct hs_jvm_perf_data;
int hs_jvm_memory_match(const struct hs_jvm_perf_data *data, const struct hs_jvm_spaces *spaces,
                        const struct hs_mapping_rows *rows, struct hs_owned_ranges *owned);
