/*
 * Reads the ledger of a process: what its resident memory consists of (trace/ledger.h).
 *
 * Nothing of ours runs in the process for it, and none of its threads is stopped: a process that is
 * stopped, or hangs, is read as well. The process goes on and changes what is read. A line is
 * therefore as exact as the process is at rest.
 *
 * Threads   one.
 * Fails     -ESRCH: the process is gone; -EACCES, -EPERM: heapscope may not; -ENOMEM.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "collect/region/region_reader.h"
#include "trace/ledger.h"
#include "trace/pinned_pages.h"

/* Reads the ledger of `pid`, and which stacks of its `region` keep pages. *ret_pins is NULL where
 * that cannot be told. Returns 0, or see Fails. */
int hs_ledger_read(pid_t pid, struct hs_region *region, struct hs_ledger **ret_ledger,
                   struct hs_pinned_pages **ret_pins);
