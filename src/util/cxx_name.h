/*
 * C++ (and Rust) names as people read them: what a function is called, without what the compiler adds.
 *
 * A demangled name can be a page long, and the part that tells two functions apart is in its middle:
 *
 *     void std::vector<Row, std::allocator<Row> >::_M_realloc_insert<Row const&>(Row*, Row const&)
 *          \___________ where ___________________/ \_____ what ______/          \__ with what ___/
 *
 * To fit a column, what tells least goes first: the result type, the arguments, the template
 * arguments, then the outer namespaces; the function's own name last.
 *
 * Holds     works on any bytes; a name that is no C++ comes out as it is, or cut.
 * Threads   pure functions.
 */
#pragma once

#include <stddef.h>

struct hs_buf;

enum hs_cxx_detail {
    HS_CXX_FULL,         /* all but the result type */
    HS_CXX_NO_ARGUMENTS, /* f(…) */
    HS_CXX_NO_TEMPLATES, /* Class<…>::f(…) */
    HS_CXX_BARE,         /* Class::f, without any brackets */
    HS_CXX_DETAIL_N,
};

/* Appends the name in this much detail. */
void hs_cxx_write(struct hs_buf *buf, const char *name, enum hs_cxx_detail detail);

/* Appends the name in the most detail that fits in `columns`, harmless for a terminal. */
void hs_cxx_write_fit(struct hs_buf *buf, const char *name, size_t columns);

/*
 * The last component of a bare name: "_M_realloc_insert" of the one above; points into `name` at
 * its start. Its length goes to ret_bytes.
 */
const char *hs_cxx_last_component(const char *name, size_t *ret_bytes);

/* Where the qualified name begins, after a result type; `name` itself when there is none. */
const char *hs_cxx_skip_result_type(const char *name);
