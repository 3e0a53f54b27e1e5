/*
 * The collector's side of test_fork.c. Apart from it, as both sides call their view of a region hs_region.
 */
#pragma once

#include "trace/snapshot.h"

/* Opens a socket; its name, or NULL. */
const char *fork_reader_open(void);

/* What a collector makes of the region that was sent, by a process that has ended since. */
struct hs_snapshot *fork_reader_receive(void);
