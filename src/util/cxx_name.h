/*
 * Readable C++ and Rust names: a function's name without what the compiler adds.
 *
 * A demangled name can be a page long, and the part that distinguishes two functions is in its
 * middle:
 *
 *     void std::vector<Row, std::allocator<Row> >::_M_realloc_insert<Row const&>(Row*, Row const&)
 *          \___________ where ___________________/ \_____ what ______/          \__ with what ___/
 *
 * To fit a column, the least informative parts are dropped first: the result type, the arguments,
 * the template arguments, then the outer namespaces. The function's own name is cut last.
 *
 * Ensures   accepts any bytes; a name that is not C++ is written unchanged, or cut.
 * Threads   pure functions.
 */
#pragma once

#include <stddef.h>

struct hs_buf;

enum hs_cxx_detail {
    HS_CXX_FULL,         /* everything but the result type */
    HS_CXX_NO_ARGUMENTS, /* f(…) */
    HS_CXX_NO_TEMPLATES, /* Class<…>::f(…) */
    HS_CXX_BARE,         /* Class::f, without any brackets */
    HS_CXX_DETAIL_N,
};

/* Appends the name in the given detail. */
void hs_cxx_write(struct hs_buf *buf, const char *name, enum hs_cxx_detail detail);

/* Appends Class<…>::f: without result type, parameters and template arguments. */
void hs_cxx_write_short(struct hs_buf *buf, const char *name);

/* Appends the name in the most detail that fits in `columns`, sanitized for a terminal. */
void hs_cxx_write_fit(struct hs_buf *buf, const char *name, size_t columns);

/*
 * Returns the last component of a bare name, a pointer into `name` ("_M_realloc_insert" in the
 * example above), and its length in *ret_bytes.
 */
const char *hs_cxx_last_component(const char *name, size_t *ret_bytes);

/*
 * Returns where the qualified name begins, behind a result type; `name` itself if it has no result
 * type.
 */
const char *hs_cxx_skip_result_type(const char *name);
