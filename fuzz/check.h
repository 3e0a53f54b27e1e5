/*
 * For fuzz targets: aborts when what must hold does not.
 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

static inline void check(bool is_true)
{
    if (!is_true) {
        abort();
    }
}
