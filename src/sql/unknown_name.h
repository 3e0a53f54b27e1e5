/*
 * What was perhaps meant by a name that nobody knows, in the words that go behind "no such ...".
 *
 * In this order: a module brings it, and is to be included first; a column stands in other tables than those that the
 * statement asks; a known name is near, as fingers slip; a known name contains it, as memory does. Nothing is said when
 * none of these is so: a wrong guess is worse than none.
 *
 * Threads   one, that of the session.
 */
#pragma once

#include "sql/session_state.h"

/* Adds to `out` what is known about `message`, SQLite's about an unknown name in `text`; returns where in the text the
 * name stands, SIZE_MAX: the message is about something else, or it is not in there. */
size_t hs_sql_unknown_name(struct hs_sql *sql, const char *message, const char *text, size_t bytes,
                           struct hs_buf *out);

/* The same for a macro, and for a table that no statement asked for. */
void hs_sql_unknown_macro(struct hs_sql *sql, const char *name, size_t name_bytes,
                          struct hs_buf *out);
void hs_sql_unknown_table(struct hs_sql *sql, const char *name, struct hs_buf *out);
