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

struct hs_live_block;
struct hs_sample;

/* For functions of an allocator that has a heap of its own (own_hooks.h): no callback of the
 * program is called. A block was allocated. */
void hs_heap_report_alloc(uint8_t heap_id, uint64_t id, uint64_t size_bytes,
                          const struct hs_regs *regs);
/* The same in two steps. Counts an allocation down; true: it is to be recorded. */
bool hs_heap_report_hit(uint8_t heap_id, uint64_t size_bytes, struct hs_sample *ret_sample);
/* Records it. */
void hs_heap_report_record(uint8_t heap_id, uint64_t id, uint64_t size_bytes,
                           const struct hs_sample *sample, const struct hs_regs *regs);
/* A block is about to be freed. True: it was recorded, and *ret_block (may be NULL) says what it
 * was. */
bool hs_heap_report_free(uint8_t heap_id, uint64_t id, struct hs_live_block *ret_block);
/* Undoes hs_heap_report_free, after a realloc that failed. */
void hs_heap_report_put_back(uint8_t heap_id, const struct hs_live_block *removed);
/* Counts down an allocation that is not recorded. False: it may have to be; nothing was counted. */
bool hs_heap_report_drop(uint8_t heap_id, uint64_t size_bytes);

/* `heap`: hs_api_heap_v1.client_heap. */
bool hs_report_alloc(uint32_t heap, uint64_t id, uint64_t size_bytes);
/* `type`: its name; NULL: none. */
bool hs_report_alloc_of(uint32_t heap, uint64_t id, uint64_t size_bytes, const char *type);
bool hs_report_sample(uint32_t heap, uint64_t id, uint64_t size_bytes);
void hs_report_free(uint32_t heap, uint64_t id);

/* The entries of the slow halves (src/arch), and these. */
bool hs_entry_report(uint64_t heap, uint64_t id, uint64_t size_bytes);
bool hs_slow_report(uint64_t heap, uint64_t id, uint64_t size_bytes, const struct hs_regs *regs);
bool hs_entry_report_of(uint64_t heap, uint64_t id, uint64_t size_bytes, const char *type);
bool hs_slow_report_of(uint64_t heap, uint64_t id, uint64_t size_bytes, const char *type,
                       const struct hs_regs *regs);
bool hs_entry_report_sample(uint64_t heap, uint64_t id, uint64_t size_bytes);
bool hs_slow_report_sample(uint64_t heap, uint64_t id, uint64_t size_bytes,
                           const struct hs_regs *regs);
