/*
 * Which files are memory. See memfd.h.
 */
#include "client/host/memfd.h"

#include <sys/stat.h>

#include "client/host/sandbox.h"
#include "rt/atomic.h"
#include "rt/sys.h"

static uint64_t device; /* of all of them; 0: not known */

void hs_memfd_note(int fd)
{
    struct stat st = { 0 };
    if (!hs_sandbox_is_tight() && hs_sys_fstat(fd, &st) == 0) {
        hs_store_relaxed(&device, (uint64_t)st.st_dev);
    }
}

bool hs_memfd_is(int fd)
{
    struct stat st = { 0 };
    uint64_t known = hs_load_relaxed(&device);
    return known != 0 && fd >= 0 && !hs_sandbox_is_tight() && hs_sys_fstat(fd, &st) == 0 &&
           (uint64_t)st.st_dev == known && S_ISREG(st.st_mode);
}
