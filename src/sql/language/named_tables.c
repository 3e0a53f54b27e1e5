/*
 * See named_tables.h.
 */
#include "sql/language/named_tables.h"

#include <stdbool.h>
#include <stdlib.h>

#include "rt/base.h"
#include "sql/language/token.h"
#include "sql/store/table_names.h"

/* Some tables have the names of columns, so only what follows FROM or JOIN, or a comma there, is
 * taken for one. */
static bool is_in_from(const char *text, struct hs_sql_token token, bool was_in_from)
{
    if (hs_sql_token_is(text, token, "FROM") || hs_sql_token_is(text, token, "JOIN")) {
        return true;
    }
    static const char *const ends[] = { "SELECT", "WHERE", "ON",    "USING", "GROUP",
                                        "ORDER",  "LIMIT", "UNION", ";",     ")" };
    for (size_t i = 0; i < HS_COUNT_OF(ends); i++) {
        if (hs_sql_token_is(text, token, ends[i])) {
            return false;
        }
    }
    return was_in_from;
}

unsigned hs_sql_named_tables(const char *text, size_t bytes)
{
    unsigned named = 0;
    bool is_from = false;
    struct hs_sql_token token = hs_sql_token_solid(text, bytes, 0);
    for (; token.kind != HS_SQL_TOKEN_END;
         token = hs_sql_token_solid(text, bytes, token.begin_off + token.bytes)) {
        is_from = is_in_from(text, token, is_from);
        if (token.kind != HS_SQL_TOKEN_WORD && token.kind != HS_SQL_TOKEN_NAME) {
            continue;
        }
        char *name = hs_sql_token_name(text, token);
        unsigned source = name ? hs_sql_source_of(name) : 0;
        /* Modules read Perfetto's tables. */
        bool is_include = hs_sql_token_is(text, token, "INCLUDE");
        named |= source == HS_SQL_PROFILE || is_from ? source : 0;
        named |= is_include ? HS_SQL_PACKETS : 0;
        free(name);
    }
    return named ? named : HS_SQL_PACKETS;
}
