/* The interface between inject_tool.c and the library that it injects, injected.c. */
#pragma once

#include <stdint.h>

#define INJECTED_VALUE (-4711)

struct injected_arg {
    int64_t word; /* returned increased by one */
    int32_t fd;   /* for injected_fd: the reading end of a pipe that contains "hello" */
    int32_t call_count;
};
