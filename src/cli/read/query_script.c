/*
 * SQL and commands: see query_script.h.
 */
#include "cli/read/query_script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/read/memory_bound.h"
#include "rt/base.h"
#include "sql/language/token.h"

#define SQL_BYTES_MAX  (64U << 20)
#define READ_DEPTH_MAX 16

/* The rows of a statement that fails later are right: they are shown before the message. */
static int run_sql(struct hs_query *query, const char *text, size_t bytes, const char *origin)
{
    struct hs_query_output *output = &query->output;
    struct hs_sql_writer writer;
    hs_sql_writer_init(&writer, &output->buf, output->format);
    struct hs_sql_rows rows = hs_sql_writer_rows(&writer);
    int err = hs_sql_run(query->sql, text, bytes, origin, &rows);
    hs_sql_writer_deinit(&writer);
    int late_err = hs_buf_finish(&output->buf);
    if (err == HS_SQL_E_STATEMENT) {
        hs_message("%s", hs_sql_error(query->sql));
    } else if (err == -ENOMEM) {
        hs_message("the query needs more memory than there is, or than heapscope may take for the "
                   "tables of a file (" HS_MEMORY_BOUND_WORDS ")");
    } else if (err < 0 && err != -EPIPE) {
        hs_message("%s", strerror(-err));
    } else if (late_err < 0 && late_err != -EPIPE) {
        hs_message("cannot write standard output: %s", strerror(-late_err));
    }
    return err ? err : late_err;
}

int hs_query_read_file(const char *path, struct hs_buf *ret_text)
{
    char part[65536];
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 ? -errno : 0;
    hs_buf_init(ret_text, NULL, NULL);
    while (err == 0) {
        ssize_t got = read(fd, part, sizeof(part));
        if (got == 0) {
            break;
        }
        if (got > 0) {
            hs_buf_add(ret_text, part, (size_t)got);
            err = ret_text->bytes > SQL_BYTES_MAX ? -EFBIG : ret_text->err;
        } else if (errno != EINTR) {
            err = -errno;
        }
    }
    if (fd >= 0 && !is_stdin) {
        close(fd);
    }
    if (err < 0) {
        hs_buf_deinit(ret_text);
        hs_message("cannot read SQL from %s: %s", is_stdin ? "standard input" : path,
                   strerror(-err));
    }
    return err;
}

static int show_query(struct hs_query *query, const char *text)
{
    return run_sql(query, text, strlen(text), NULL);
}

static int command_tables(struct hs_query *query, const char *word)
{
    (void)word;
    return show_query(
        query,
        "SELECT name, type FROM (SELECT name, type FROM sqlite_schema UNION ALL SELECT name, "
        "type FROM sqlite_temp_schema) WHERE type IN ('table', 'view') AND name NOT LIKE "
        "'sqlite\\_%' ESCAPE '\\' ORDER BY name");
}

#define COLUMNS_OF_ALL                                                                             \
    "SELECT t.name AS table_name, c.name, c.type FROM (SELECT name, type FROM sqlite_schema "      \
    "UNION "                                                                                       \
    "ALL SELECT name, type FROM sqlite_temp_schema) t JOIN pragma_table_xinfo(t.name) c WHERE "    \
    "t.type IN ('table', 'view') AND c.hidden != 1 ORDER BY t.name, c.cid"

static int command_schema(struct hs_query *query, const char *word)
{
    if (word[0] == '\0') {
        return show_query(query, COLUMNS_OF_ALL);
    }
    if (hs_sql_know_table(query->sql, word) != 0) {
        hs_message("%s", hs_sql_error(query->sql));
        hs_message(".tables lists all tables");
        return HS_SQL_E_STATEMENT;
    }
    char *text =
        sqlite3_mprintf("SELECT name, type FROM pragma_table_xinfo(%Q) WHERE hidden != 1", word);
    int err = text ? show_query(query, text) : -ENOMEM;
    sqlite3_free(text);
    return err;
}

static int command_modules(struct hs_query *query, const char *word)
{
    (void)word;
    const char *name;
    for (size_t i = 0; (name = hs_sql_module_name(i)) != NULL; i++) {
        hs_buf_printf(&query->output.buf, "%s\n", name);
    }
    return hs_buf_finish(&query->output.buf);
}

static int command_format(struct hs_query *query, const char *word)
{
    if (word[0] == '\0') {
        hs_buf_printf(&query->output.buf, "%s\n", hs_sql_format_names[query->output.format]);
        return hs_buf_finish(&query->output.buf);
    }
    for (unsigned i = 0; i < HS_SQL_FORMAT_N; i++) {
        if (strcmp(word, hs_sql_format_names[i]) == 0) {
            query->output.format = (enum hs_sql_format)i;
            return 0;
        }
    }
    hs_message("'%s' is not a format: .format table, csv or json", word);
    return HS_SQL_E_STATEMENT;
}

static int command_read(struct hs_query *query, const char *word)
{
    struct hs_buf text;
    if (word[0] == '\0') {
        hs_message(".read needs a file");
        return HS_SQL_E_STATEMENT;
    }
    if (query->depth >= READ_DEPTH_MAX) {
        hs_message(".read %s: files read each other too deeply", word);
        return HS_SQL_E_STATEMENT;
    }
    if (hs_query_read_file(word, &text) < 0) {
        return HS_SQL_E_STATEMENT;
    }
    query->depth++;
    int err = hs_query_script(query, hs_buf_text(&text), text.bytes, word);
    query->depth--;
    hs_buf_deinit(&text);
    return err;
}

static int command_quit(struct hs_query *query, const char *word)
{
    (void)word;
    query->is_over = true;
    return 0;
}

static int command_help(struct hs_query *query, const char *word);

static const struct {
    const char *name, *usage, *help;
    int (*run)(struct hs_query *query, const char *word);
} commands[] = {
    { ".tables", ".tables", "the tables and views", command_tables },
    { ".schema", ".schema [TABLE]", "the columns of all, or of one", command_schema },
    { ".modules", ".modules", "the modules for INCLUDE PERFETTO MODULE", command_modules },
    { ".format", ".format FORMAT", "table, csv or json; without FORMAT, show the current one",
      command_format },
    { ".mode", ".mode FORMAT", "the same, as sqlite3 calls it", command_format },
    { ".read", ".read FILE", "run the SQL in a file", command_read },
    { ".help", ".help", "this list", command_help },
    { ".quit", ".quit", "leave, as Ctrl-D does", command_quit },
};

static int command_help(struct hs_query *query, const char *word)
{
    (void)word;
    for (size_t i = 0; i < HS_COUNT_OF(commands); i++) {
        hs_buf_printf(&query->output.buf, "%-16s %s\n", commands[i].usage, commands[i].help);
    }
    hs_buf_str(&query->output.buf, "Statements end with a semicolon; Ctrl-C stops one.\n");
    return hs_buf_finish(&query->output.buf);
}

static int run_command(struct hs_query *query, char *line)
{
    size_t name_bytes = strcspn(line, " \t\r\n;");
    char *word = line + name_bytes + strspn(line + name_bytes, " \t\r\n;");
    size_t word_bytes = strlen(word);
    while (word_bytes > 0 && strchr(" \t\r\n;", word[word_bytes - 1])) {
        word[--word_bytes] = '\0';
    }
    line[name_bytes] = '\0';
    for (size_t i = 0; i < HS_COUNT_OF(commands); i++) {
        if (strcmp(line, commands[i].name) == 0) {
            return commands[i].run(query, word);
        }
    }
    hs_message("there is no command %s; .help lists them", line);
    return HS_SQL_E_STATEMENT;
}

static bool is_command(const char *text, size_t bytes, size_t off)
{
    return hs_sql_token_is(text, hs_sql_token_solid(text, bytes, off), ".");
}

/* The end of the statements that begin at `off`: at a command, or at the end of the text. */
static size_t end_of_sql(const char *text, size_t bytes, size_t off)
{
    while (off < bytes && !is_command(text, bytes, off)) {
        bool is_complete;
        off = hs_sql_token_statement_end(text, bytes, off, &is_complete);
    }
    return off;
}

/* Runs a part of a text, with as many empty lines in front of it as there are lines before it, so
 * that messages name the right line. */
static int run_part(struct hs_query *query, const char *text, size_t begin_off, size_t end_off,
                    const char *origin)
{
    if (begin_off == 0) {
        return run_sql(query, text, end_off, origin);
    }
    struct hs_buf part = HS_BUF_INIT;
    for (size_t i = 0; i < begin_off; i++) {
        if (text[i] == '\n') {
            hs_buf_char(&part, '\n');
        }
    }
    hs_buf_add(&part, text + begin_off, end_off - begin_off);
    int err = part.err ? part.err : run_sql(query, hs_buf_text(&part), part.bytes, origin);
    hs_buf_deinit(&part);
    return err;
}

int hs_query_script(struct hs_query *query, const char *text, size_t bytes, const char *origin)
{
    int err = 0;
    size_t off = 0;
    while (off < bytes && err == 0 && !query->is_over) {
        size_t end_off = end_of_sql(text, bytes, off);
        if (end_off > off) {
            err = run_part(query, text, off, end_off, origin);
            off = end_off;
            continue;
        }
        const char *line = text + hs_sql_token_solid(text, bytes, off).begin_off;
        const char *line_end = memchr(line, '\n', (size_t)(text + bytes - line));
        line_end = line_end ? line_end : text + bytes;
        char *copy = strndup(line, (size_t)(line_end - line));
        err = copy ? run_command(query, copy) : -ENOMEM;
        free(copy);
        off = (size_t)(line_end - text);
    }
    return err;
}
