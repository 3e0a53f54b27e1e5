/*
 * Finding out whether the process has a single thread. See shared.h.
 */
#include "client/tables/shared.h"

#include "client/host/linkmap.h"

static const char never = 0;

const char *hs_is_single_threaded = &never;

void hs_shared_init(void)
{
    const char *variable = hs_linkmap_search(NULL, NULL, "__libc_single_threaded", NULL);
    /* ORDER shared: nothing is updated before this is known; see the other end in shared.h. */
    hs_store_release(&hs_is_single_threaded, variable ? variable : &never);
}
