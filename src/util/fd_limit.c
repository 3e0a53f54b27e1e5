/* Raises RLIMIT_NOFILE: see fd_limit.h. */
#include "util/fd_limit.h"

#include <sys/resource.h>

void hs_fd_limit_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}
