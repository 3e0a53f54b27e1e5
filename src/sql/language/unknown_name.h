/*
 * Suggestions for a name that is unknown, as text that continues "no such ...".
 *
 * The first of these that applies is suggested: a module that defines the name and has to be
 * included first; other tables that have the column, if the tables of the statement do not; a known
 * name that differs by a typing error; a known name that contains it. If none of these applies,
 * nothing is suggested, because a wrong guess is worse than none.
 *
 * Threads   one, that of the session.
 */
#pragma once

#include "sql/language/session_state.h"

/* Appends suggestions to `out`. `message` is SQLite's error about an unknown name in `text`.
 * Returns the offset of the name in the text; SIZE_MAX if the message is about something else, or
 * if the text does not contain the name. */
size_t hs_sql_unknown_name(struct hs_sql *sql, const char *message, const char *text, size_t bytes,
                           struct hs_buf *out);

/* The same for a macro. */
void hs_sql_unknown_macro(struct hs_sql *sql, const char *name, size_t name_bytes,
                          struct hs_buf *out);
