/*
 * A soft RLIMIT_DATA, taken back afterwards: see memory_bound.h.
 */
#include "cli/memory_bound.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOUND_BYTES_MIN (UINT64_C(2) << 30)
#define BOUND_TIMES     256U
/* The field of statm: data and stack. */
#define STATM_DATA 5U

/* What counts for the limit now: much, where a sanitizer has its shadow. 0: unknown. */
static uint64_t data_bytes(void)
{
    char line[256], *at = line;
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fgets(line, sizeof(line), file)) {
        for (unsigned i = 0; i <= STATM_DATA; i++) {
            pages = strtoull(at, &at, 10);
        }
    }
    if (file) {
        fclose(file);
    }
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

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
    uint64_t now_bytes = data_bytes();
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
