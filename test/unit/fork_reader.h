/*
 * The collector's side of test_fork.c. It is a separate file because both sides call their view of
 * a region hs_region.
 */
#pragma once

#include "trace/snapshot.h"

/* Opens a socket. Returns its name, or NULL. */
const char *fork_reader_open(void);

/*
 * Receives the region of a process that has ended since, and returns the collector's snapshot of
 * it.
 */
struct hs_snapshot *fork_reader_receive(void);
