/*
 * The tables of fmt/api_layout.h in this process: finding them, recording the heaps that they hold,
 * and calling the program's callbacks.
 *
 * A program has one table when it links or loads libheapscope.so, mostly; a process in which two
 * objects bring copies of the library has two, and their heaps are told apart.
 *
 * Threads   any. One thread at a time adds a table.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/tables/region.h"
#include "fmt/api_layout.h"
#include "rt/atomic.h"
#include "rt/base.h"

/* What the tables get as `calls`. (Weak: tests link the client without its hooks.) */
extern HS_HIDDEN const struct hs_api_calls_v1 hs_api_calls __attribute__((weak));

/* Looks for tables in the loaded objects that stay, and adds those that are new. Called when the
 * client starts, when it is attached, and when there may be new objects. */
void hs_api_table_find(void);

/* The same for all loaded objects. Under the loader's lock. */
void hs_api_table_find_all(void);

/* Adds one table. What is no table is ignored. */
void hs_api_table_add(struct hs_api_v1 *table);

/* The tables that were added, in this order, and then NULL. */
struct hs_api_v1 *hs_api_table_at(unsigned i);

/* In a call of the library: takes up new settings and newly registered heaps, and calls the
 * callbacks that are due. Not inside our own code. */
void hs_api_table_poll(void);

/* The settings of the last poll: control.generation. */
extern HS_HIDDEN uint32_t hs_api_table_generation;

/* Have the settings changed since the last poll? */
static inline bool hs_api_table_is_outdated(void)
{
    return hs_load_relaxed(&hs_api_table_generation) !=
           hs_load_relaxed(&hs_control_page.control.generation);
}

/* In a forked child: no callback is called any more, and what a thread of the parent had begun
 * is begun anew. */
void hs_api_table_follow_fork(void);
