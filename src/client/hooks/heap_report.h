/*
 * What a program reports about its own heaps: the calls of struct hs_api_calls_v1
 * (fmt/api_layout.h) that allocate and free.
 *
 * A report goes through the heap's own countdown (thread/heap_countdown.h), and, if it is sampled,
 * takes the same steps as a sample of malloc (record.c), but is kept by heap and id
 * (tables/heap_blocks.h). A report of an id that is still live frees the older block first.
 *
 * Threads   any; also signal handlers. A report inside our own code is lost and counted.
 * Fails     false: not recorded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "arch/regs.h"

/* `heap`: hs_api_heap_v1.client_heap. */
bool hs_report_alloc(uint32_t heap, uint64_t id, uint64_t size_bytes);
bool hs_report_sample(uint32_t heap, uint64_t id, uint64_t size_bytes);
void hs_report_free(uint32_t heap, uint64_t id);

/* The entries of the slow halves (src/arch), and these. */
bool hs_entry_report(uint64_t heap, uint64_t id, uint64_t size_bytes);
bool hs_slow_report(uint64_t heap, uint64_t id, uint64_t size_bytes, const struct hs_regs *regs);
bool hs_entry_report_sample(uint64_t heap, uint64_t id, uint64_t size_bytes);
bool hs_slow_report_sample(uint64_t heap, uint64_t id, uint64_t size_bytes,
                           const struct hs_regs *regs);
