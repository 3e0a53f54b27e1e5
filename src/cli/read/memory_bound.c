/*
 * A soft RLIMIT_DATA, restored afterwards: see memory_bound.h.
 */
#include "cli/read/memory_bound.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/own_data.h"

#define BOUND_BYTES_MIN (UINT64_C(2) << 30)
#define BOUND_TIMES     256U

static uint64_t allowed_bytes(const char *path)
{
    struct stat st;
    bool is_known = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &st) == 0 : stat(path, &st) == 0;
    uint64_t machine_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t bytes = machine_bytes / 2;
    if (is_known && S_ISREG(st.st_mode)) {
        bytes = (uint64_t)st.st_size < UINT64_MAX / BOUND_TIMES / 2
                    ? (uint64_t)st.st_size * BOUND_TIMES
                    : UINT64_MAX / 2;
    }
    return bytes > BOUND_BYTES_MIN ? bytes : BOUND_BYTES_MIN;
}

void hs_memory_bound_begin(struct hs_memory_bound *ret_bound, const char *path)
{
    uint64_t now_bytes = hs_own_data_bytes();
    *ret_bound = (struct hs_memory_bound){ .is_set = false };
    if (now_bytes == 0 || getrlimit(RLIMIT_DATA, &ret_bound->before) < 0) {
        return;
    }
    struct rlimit bounded = ret_bound->before;
    uint64_t bytes = now_bytes + allowed_bytes(path);
    if (bytes < bounded.rlim_cur) { /* RLIM_INFINITY is the largest number */
        bounded.rlim_cur = bytes;
        ret_bound->is_set = setrlimit(RLIMIT_DATA, &bounded) == 0;
    }
}

void hs_memory_bound_end(const struct hs_memory_bound *bound)
{
    if (bound->is_set) {
        setrlimit(RLIMIT_DATA, &bound->before);
    }
}
