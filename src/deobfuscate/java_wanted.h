/*
 * The methods whose original names are wanted: those that frames of a file name. A map of a large
 * program has millions of methods, a profile some thousands.
 *
 * Threads   one user; asking is a pure function.
 * Fails     -ENOMEM, -EOVERFLOW
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/intern.h"

/* Zeros are an empty set. */
struct hs_java_wanted {
    struct hs_intern methods; /* hashes of "class.method" */
};

/* Frees the set. */
void hs_java_wanted_deinit(struct hs_java_wanted *wanted);
/* Adds the method that a frame's name names, if it can be one of Java. */
int hs_java_wanted_add(struct hs_java_wanted *wanted, const char *frame_name);
/* True if "class.method" is wanted. */
bool hs_java_wanted_has(const struct hs_java_wanted *wanted, const char *method, size_t bytes);
