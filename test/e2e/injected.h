/*
 * What inject_tool.c and the library that it injects, injected.c, agree on.
 */
#pragma once

#include <stdint.h>

#define INJECTED_VALUE (-4711)

struct injected_arg {
    int64_t word; /* comes back increased by one */
    int32_t fd;   /* injected_fd: of a pipe with "hello" in it */
    int32_t call_count;
};
