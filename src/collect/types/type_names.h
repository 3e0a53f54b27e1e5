/*
 * The names of types, each with its number.
 *
 * A number stays that of its name as long as the table lives, so that it means the same in all
 * snapshots of a process. Types of the same name have the same number: a class that two modules
 * contain is one type.
 *
 * Holds     numbers are 1, 2, 3 ...; 0 is no type. At most HS_TYPE_NAMES_MAX names, each of at most
 *           HS_TYPE_NAME_BYTES_MAX bytes, UTF-8 without control characters.
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/buf.h"
#include "util/intern_array.h"

#define HS_TYPE_NAMES_MAX      65536U
#define HS_TYPE_NAME_BYTES_MAX 512U

enum hs_type_language {
    HS_TYPE_CXX,
    HS_TYPE_PYTHON,
};

struct hs_type_name {
    size_t off; /* in the texts */
    enum hs_type_language language;
};

struct hs_type_names {
    struct hs_intern_array ids;
    struct hs_type_name *items; /* that of type N is items[N - 1] */
    struct hs_buf texts;        /* each with its NUL */
};

/* A table of zeros is empty. Frees its memory. */
void hs_type_names_deinit(struct hs_type_names *names);

/* The number of `name`, which is added if the table does not have it. A longer one is cut and ends
 * in "...". `ret_idx`: 0 if the table is full. */
int hs_type_names_put(struct hs_type_names *names, enum hs_type_language language, const char *name,
                      uint32_t *ret_idx);

/* How many names there are. */
uint32_t hs_type_names_count(const struct hs_type_names *names);
/* The name of type `idx`, from 1 up to the number of names. Valid until the next one is added. */
const char *hs_type_names_text(const struct hs_type_names *names, uint32_t idx);
enum hs_type_language hs_type_names_language(const struct hs_type_names *names, uint32_t idx);

/* For assertions: is each name within bounds, and text? */
bool hs_type_names_is_valid(const struct hs_type_names *names);
