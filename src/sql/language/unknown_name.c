/* Finds the name that may have been meant: see unknown_name.h. */
#include "sql/language/unknown_name.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rt/base.h"
#include "util/array.h"
#include "util/suggest.h"

#define NAMES_MAX  20000
#define NAME_BYTES 256
#define WORDS_MAX  1000 /* words of a statement that are examined */
/* length of the shortest word that is searched for inside longer names */
#define PART_LETTERS_MIN 4

static const char tables_query[] =
    "SELECT name FROM sqlite_temp_schema WHERE type IN ('table', 'view') UNION "
    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') UNION "
    "SELECT name FROM pragma_module_list WHERE name NOT LIKE 'fts%' AND name NOT LIKE "
    "'\\_\\_heapscope%' ESCAPE '\\'";

/* The columns of table ?1; NULL: of all tables. */
static const char columns_query[] =
    "SELECT DISTINCT c.name FROM (SELECT name, 'temp' AS place FROM sqlite_temp_schema WHERE type "
    "IN ('table', 'view') UNION ALL SELECT name, 'main' FROM sqlite_schema WHERE type IN ('table', "
    "'view')) t JOIN pragma_table_info(t.name, t.place) c WHERE ?1 IS NULL OR t.name = ?1 COLLATE "
    "NOCASE";

/* The first tables that have a column ?1. Our own tables come last. Internal tables, which users do
 * not type, are left out. */
static const char owners_query[] =
    "SELECT DISTINCT t.name FROM (SELECT name, 'temp' AS place FROM sqlite_temp_schema WHERE type "
    "IN ('table', 'view') UNION ALL SELECT name, 'main' FROM sqlite_schema WHERE type IN ('table', "
    "'view')) t JOIN pragma_table_info(t.name, t.place) c WHERE c.name = ?1 COLLATE NOCASE AND "
    "t.name NOT LIKE '\\_\\_%' ESCAPE '\\' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
    "ORDER BY t.name LIKE 'heapscope\\_%' ESCAPE '\\', t.name LIMIT 3";

static const char functions_query[] = "SELECT DISTINCT name FROM pragma_function_list";

struct names {
    char **items;
    size_t count, capacity;
};

static void add_name(struct names *names, const char *name)
{
    char *copy = name ? strdup(name) : NULL;
    if (!copy || names->count >= NAMES_MAX ||
        hs_array_reserve(&names->items, &names->capacity, names->count + 1,
                         sizeof(names->items[0])) < 0) {
        free(copy);
        return;
    }
    names->items[names->count++] = copy;
}

/* Adds the results of a query that has one parameter or none. */
static void add_query_results(sqlite3 *db, const char *query, const char *parameter,
                              struct names *names)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, query, -1, &stmt, NULL) == SQLITE_OK) {
        if (parameter) {
            sqlite3_bind_text(stmt, 1, parameter, -1, SQLITE_STATIC);
        }
        while (names->count < NAMES_MAX && sqlite3_step(stmt) == SQLITE_ROW) {
            add_name(names, (const char *)sqlite3_column_text(stmt, 0));
        }
    }
    sqlite3_finalize(stmt);
}

static void names_deinit(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->items[i]);
    }
    free((void *)names->items);
}

/* Finds the next name of this kind, "TABLE" or "MACRO", that a module creates after `*off`. Returns
 * false at the module's end. */
static bool next_created(const char *text, size_t *off, const char *kind, char *ret_name)
{
    size_t bytes = strlen(text);
    bool is_create = false; /* the current statement is a CREATE */
    for (;;) {
        struct hs_sql_token token = hs_sql_token_solid(text, bytes, *off);
        *off = token.begin_off + token.bytes;
        if (token.kind == HS_SQL_TOKEN_END) {
            return false;
        }
        if (hs_sql_token_is(text, token, "CREATE")) {
            is_create = true;
        } else if (hs_sql_token_is(text, token, ";")) {
            is_create = false;
        } else if (is_create && hs_sql_token_is(text, token, kind)) {
            struct hs_sql_token name = hs_sql_token_solid(text, bytes, *off);
            snprintf(ret_name, NAME_BYTES, "%.*s", (int)name.bytes, text + name.begin_off);
            return true;
        }
    }
}

/* The module that creates `wanted` and is not in the session yet; NULL: none. If `names` is set,
 * all names that such modules create are added to it. */
static const char *find_module(const struct hs_sql *sql, const char *kind, const char *wanted,
                               struct names *names)
{
    const char *text, *module = NULL;
    for (size_t i = 0; (text = hs_sql_module_unread(sql, i, &module)) != NULL; i++) {
        size_t off = 0;
        char name[NAME_BYTES];
        while (next_created(text, &off, kind, name)) {
            if (wanted && strcasecmp(name, wanted) == 0) {
                return module;
            }
            if (names) {
                add_name(names, name);
            }
        }
    }
    return NULL;
}

/* The shortest name that contains the word, or the word without a plural s. */
static const char *find_containing(const char *word, const struct names *names)
{
    char part[NAME_BYTES];
    snprintf(part, sizeof(part), "%s", word);
    size_t bytes = strlen(part);
    if (bytes > PART_LETTERS_MIN && part[bytes - 1] == 's') {
        part[--bytes] = '\0';
    }
    const char *best = NULL;
    for (size_t i = 0; bytes >= PART_LETTERS_MIN && i < names->count; i++) {
        const char *name = names->items[i];
        if (strstr(name, part) && name[0] != '_' && (!best || strlen(name) < strlen(best))) {
            best = name;
        }
    }
    return best;
}

static const char *find_nearest(const char *word, const struct names *names)
{
    if (names->count == 0) {
        return NULL;
    }
    return hs_suggest_nearest(word, (const char *const *)names->items, names->count);
}

/* Suggests one of the names, or of the names that modules create of this kind. NULL: modules create
 * none. */
static void add_suggestion(const struct hs_sql *sql, const char *word, const char *kind,
                           struct names *names, struct hs_buf *out)
{
    const char *module = kind ? find_module(sql, kind, word, NULL) : NULL;
    if (module) {
        hs_buf_printf(out, "; INCLUDE PERFETTO MODULE %s defines it", module);
        return;
    }
    if (kind) {
        find_module(sql, kind, NULL, names);
    }
    const char *meant = find_nearest(word, names);
    meant = meant ? meant : find_containing(word, names);
    if (!meant) {
        return;
    }
    module = kind ? find_module(sql, kind, meant, NULL) : NULL;
    hs_buf_printf(out, "; did you mean %s%s%s%s?", meant,
                  module ? ", which INCLUDE PERFETTO MODULE " : "", module ? module : "",
                  module ? " defines" : "");
}

/* Suggests the tables that have the column, if the tables of the statement do not. */
static bool add_owners(const struct hs_sql *sql, const char *word, struct hs_buf *out)
{
    struct names owners = { NULL, 0, 0 };
    add_query_results(sql->db, owners_query, word, &owners);
    for (size_t i = 0; i < owners.count; i++) {
        const char *sign = i == 0 ? "; there is one in " : i + 1 < owners.count ? ", " : " and ";
        hs_buf_printf(out, "%s%s", sign, owners.items[i]);
    }
    bool has_any = owners.count > 0;
    names_deinit(&owners);
    return has_any;
}

static void add_columns_of_statement(const struct hs_sql *sql, const char *text, size_t bytes,
                                     struct names *names)
{
    struct hs_sql_token token = hs_sql_token_solid(text, bytes, 0);
    for (size_t i = 0; token.kind != HS_SQL_TOKEN_END && i < WORDS_MAX;
         i++, token = hs_sql_token_solid(text, bytes, token.begin_off + token.bytes)) {
        if (token.kind == HS_SQL_TOKEN_WORD || token.kind == HS_SQL_TOKEN_NAME) {
            char *table = hs_sql_token_name(text, token);
            if (table) {
                add_query_results(sql->db, columns_query, table, names);
            }
            free(table);
        }
    }
}

static void explain_column(struct hs_sql *sql, const char *word, const char *text, size_t bytes,
                           struct hs_buf *out)
{
    struct names names = { NULL, 0, 0 };
    if (!add_owners(sql, word, out)) {
        add_columns_of_statement(sql, text, bytes, &names);
        if (!find_nearest(word, &names)) {
            add_query_results(sql->db, columns_query, NULL, &names);
        }
        add_suggestion(sql, word, NULL, &names, out);
    }
    names_deinit(&names);
}

static void explain_function(struct hs_sql *sql, const char *word, struct hs_buf *out)
{
    struct names names = { NULL, 0, 0 };
    add_query_results(sql->db, functions_query, NULL, &names);
    add_suggestion(sql, word, NULL, &names, out);
    names_deinit(&names);
}

static void explain_table(struct hs_sql *sql, const char *name, struct hs_buf *out)
{
    struct names names = { NULL, 0, 0 };
    add_query_results(sql->db, tables_query, NULL, &names);
    add_suggestion(sql, name, "TABLE", &names, out);
    names_deinit(&names);
}

void hs_sql_unknown_macro(struct hs_sql *sql, const char *name, size_t name_bytes,
                          struct hs_buf *out)
{
    struct names names = { NULL, 0, 0 };
    char word[NAME_BYTES];
    snprintf(word, sizeof(word), "%.*s", (int)name_bytes, name);
    for (size_t i = 0; i < sql->macro_count; i++) {
        add_name(&names, sql->macros[i].name);
    }
    add_suggestion(sql, word, "MACRO", &names, out);
    names_deinit(&names);
    if (out->bytes == 0) {
        hs_buf_str(out, "; CREATE PERFETTO MACRO makes one");
    }
}

/* Finds the position of the name in the text, because SQLite does not always report an offset. */
static size_t find_word(const char *text, size_t bytes, const char *word)
{
    size_t word_bytes = strlen(word);
    struct hs_sql_token token = hs_sql_token_solid(text, bytes, 0);
    for (; token.kind != HS_SQL_TOKEN_END;
         token = hs_sql_token_solid(text, bytes, token.begin_off + token.bytes)) {
        size_t quotes = token.kind == HS_SQL_TOKEN_NAME ? 1 : 0;
        if ((token.kind == HS_SQL_TOKEN_WORD || quotes > 0) &&
            token.bytes == word_bytes + 2 * quotes &&
            strncasecmp(text + token.begin_off + quotes, word, word_bytes) == 0) {
            return token.begin_off;
        }
    }
    return SIZE_MAX;
}

size_t hs_sql_unknown_name(struct hs_sql *sql, const char *message, const char *text, size_t bytes,
                           struct hs_buf *out)
{
    static const char *const starts[] = { "no such table: ", "no such column: ",
                                          "no such function: " };
    size_t kind = 0;
    while (kind < HS_COUNT_OF(starts) &&
           strncmp(message, starts[kind], strlen(starts[kind])) != 0) {
        kind++;
    }
    if (kind == HS_COUNT_OF(starts)) {
        return SIZE_MAX;
    }
    /* The name without its table or database, in lower case, as all our names are. */
    char word[NAME_BYTES];
    const char *dot = strrchr(message, '.');
    snprintf(word, sizeof(word), "%s", dot ? dot + 1 : message + strlen(starts[kind]));
    for (char *letter = word; *letter; letter++) {
        *letter = (char)tolower((unsigned char)*letter);
    }
    if (kind == 0) {
        explain_table(sql, word, out);
    } else if (kind == 1) {
        explain_column(sql, word, text, bytes, out);
    } else {
        explain_function(sql, word, out);
    }
    return find_word(text, bytes, word);
}

int hs_sql_know_table(struct hs_sql *sql, const char *name)
{
    struct names columns = { NULL, 0, 0 };
    add_query_results(sql->db, "SELECT name FROM pragma_table_xinfo(?1) LIMIT 1", name, &columns);
    bool is_known = columns.count > 0;
    names_deinit(&columns);
    if (is_known) {
        return 0;
    }
    hs_buf_clear(&sql->error);
    hs_buf_printf(&sql->error, "no such table: %s", name);
    explain_table(sql, name, &sql->error);
    return HS_SQL_E_STATEMENT;
}
