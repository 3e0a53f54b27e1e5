/*
 * Which of the client's two libraries this is: libheapscope_preload.so, or libheapscope_malloc.so,
 * which a program links. Both are made of the same objects; this variable is in the second one
 * only.
 *
 * Threads   a constant.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rt/base.h"

/* Its value does not matter. (Weak: libheapscope_preload.so lacks it.) */
extern HS_HIDDEN const char hs_linked_mark __attribute__((weak));

/* Is this libheapscope_malloc.so? */
static inline bool hs_is_linked_library(void)
{
    return &hs_linked_mark != NULL;
}
