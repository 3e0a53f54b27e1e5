/*
 * heapscope query: SQL over a profile's database.
 *
 * The file is any profile that heapscope reads, from which it makes tables in memory; or an SQLite
 * database, which it opens read-only and so that nothing in the file can do harm.
 *
 * See       sql/database.h, sql/language/sql_session.h, docs/man/heapscope-query.1
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/read/query_shell.h"
#include "cli/read/symbol_sources.h"
#include "cli/read/tables_file.h"
#include "profile/model/heap_patterns.h"
#include "rt/base.h"
#include "sql/language/named_tables.h"
#include "sql/store/table_names.h"
#include "util/write_all.h"

static int write_out(void *ctx, const void *data, size_t bytes)
{
    (void)ctx;
    return hs_write_all(STDOUT_FILENO, data, bytes);
}

/* True: the file is an SQLite database. False also when it cannot be read. */
static bool is_database(const char *path)
{
    static const char magic[16] = "SQLite format 3";
    char head[16] = { 0 };
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_one = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                  read(fd, head, sizeof(head)) == sizeof(head) &&
                  memcmp(head, magic, sizeof(magic)) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return is_one;
}

/* The SQL tells which tables of a profile to fill. NULL: it comes later. */
static int open_database(const char *path, const struct hs_buf *sql,
                         const struct hs_heap_patterns *heaps, sqlite3 **ret_db)
{
    if (!is_database(path)) {
        unsigned expected = sql ? hs_sql_named_tables(sql->data, sql->bytes) : HS_SQL_PACKETS;
        return hs_tables_file_open(expected, path, heaps, ret_db);
    }
    if (heaps->count > 0) {
        hs_message("%s is a database, whose tables stay as they are: leave out --heap, and give "
                   "it to 'heapscope export'",
                   path);
        return HS_EXIT_STATUS_FAILED;
    }
    sqlite3 *db = NULL;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
    if (code == SQLITE_OK && hs_sql_secure(db) == 0) {
        code = sqlite3_exec(db, "SELECT COUNT(*) FROM sqlite_schema", NULL, NULL, NULL);
    }
    if (code != SQLITE_OK) {
        hs_message("cannot open %s: %s", path, db ? sqlite3_errmsg(db) : "no memory");
        sqlite3_close(db);
        return HS_EXIT_STATUS_FAILED;
    }
    *ret_db = db;
    return HS_EXIT_STATUS_DONE;
}

struct query_args {
    unsigned format;
    const char *sql_file;
    /* The options of trace_processor_shell for SQL; results are CSV then. */
    const char *query_file, *query_text;
    struct hs_opt_list heaps;
};

/* Reads the SQL that does not come from standard input. *ret_has_sql: there is some. */
static int read_sql(const struct query_args *args, const char *sql_text, struct hs_buf *ret_sql,
                    bool *ret_has_sql)
{
    bool is_file = !sql_text && args->sql_file && strcmp(args->sql_file, "-") != 0;
    *ret_has_sql = sql_text || is_file;
    if (is_file) {
        return hs_query_read_file(args->sql_file, ret_sql);
    }
    hs_buf_init(ret_sql, NULL, NULL);
    hs_buf_str(ret_sql, sql_text ? sql_text : "");
    return ret_sql->err;
}

/* Runs the SQL of the command line or of a file. NULL: there is none, so runs that of a pipe, or a
 * shell. */
static int run_query(struct hs_sql *sql, const struct query_args *args, const char *profile,
                     struct hs_buf *known)
{
    struct hs_query query = { .sql = sql, .output.format = (enum hs_sql_format)args->format };
    struct hs_buf piped = HS_BUF_INIT;
    hs_buf_init(&query.output.buf, write_out, NULL);
    int status = HS_EXIT_STATUS_DONE, err = 0;
    if (known) {
        err = hs_query_script(&query, hs_buf_text(known), known->bytes, args->sql_file);
    } else if (!args->sql_file && isatty(STDIN_FILENO) == 1) {
        status = hs_query_shell(&query, profile);
    } else {
        err = hs_query_read_file("-", &piped);
        if (err == 0) {
            err = hs_query_script(&query, hs_buf_text(&piped), piped.bytes, NULL);
        }
    }
    hs_buf_deinit(&piped);
    hs_buf_deinit(&query.output.buf);
    return err == 0 || err == -EPIPE ? status : HS_EXIT_STATUS_FAILED;
}

static int query_file(const struct query_args *args, const char *profile, struct hs_buf *known)
{
    sqlite3 *db = NULL;
    struct hs_sql *sql = NULL;
    const struct hs_heap_patterns heaps = { args->heaps.items, args->heaps.count };
    int status = open_database(profile, known, &heaps, &db);
    if (status != HS_EXIT_STATUS_DONE) {
        return status;
    }
    if (hs_sql_new(db, &sql) < 0) {
        hs_message("%s", strerror(ENOMEM));
        status = HS_EXIT_STATUS_FAILED;
    } else {
        status = run_query(sql, args, profile, known);
    }
    hs_sql_free(sql);
    sqlite3_close(db);
    return status;
}

/* Finds out in which way the SQL was given, and the format that belongs to it. */
static int take_sql(const struct hs_opts_spec *spec, struct query_args *args, const char **text)
{
    int count = !!*text + !!args->sql_file + !!args->query_file + !!args->query_text;
    if (count > 1) {
        return hs_args_fail(spec, "SQL was given twice: one argument, --file, --query-file or "
                                  "--query-string is enough");
    }
    if (args->format == HS_SQL_FORMAT_N) {
        bool is_shell_of_perfetto = args->query_file || args->query_text;
        args->format = is_shell_of_perfetto ? HS_SQL_FORMAT_CSV : HS_SQL_FORMAT_TABLE;
    }
    args->sql_file = args->query_file ? args->query_file : args->sql_file;
    *text = args->query_text ? args->query_text : *text;
    return HS_ARGS_GO_ON;
}

static int query(const struct hs_opts_spec *spec, struct query_args *args,
                 const struct hs_opts_result *result)
{
    const char *sql_text = result->operand_count == 2 ? result->operands[1] : NULL;
    int status = take_sql(spec, args, &sql_text);
    if (status != HS_ARGS_GO_ON) {
        return status;
    }
    struct hs_buf sql;
    bool has_sql;
    int err = read_sql(args, sql_text, &sql, &has_sql);
    status = err < 0 ? HS_EXIT_STATUS_FAILED
                     : query_file(args, result->operands[0], has_sql ? &sql : NULL);
    hs_buf_deinit(&sql);
    return status;
}

int hs_cmd_query(int argc, char **argv)
{
    struct query_args args = { .format = HS_SQL_FORMAT_N };
    const struct hs_opt list[] = {
        HS_OPT_CHOICE(0, "format", "FORMAT", &args.format, hs_sql_format_names,
                      "write the results as table (the default), csv or json"),
        HS_OPT_STRING('f', "file", "SQL_FILE", &args.sql_file,
                      "read the SQL from this file; - is standard input"),
        HS_OPT_STRING('q', "query-file", "SQL_FILE", &args.query_file,
                      "like --file with --format csv, as in trace_processor_shell"),
        HS_OPT_STRING('Q', "query-string", "SQL", &args.query_text,
                      "run this SQL, with --format csv, as in trace_processor_shell"),
        HS_OPT_LIST(0, "heap", "NAME", &args.heaps,
                    "make tables of these heaps only: a glob or a list of them, such as\n"
                    "'pool,gpu*'; may be given more than once (default: all heaps)"),
        HS_OPT_SYMBOLS,
    };
    const struct hs_opts_spec spec = {
        .command = "query",
        .summary = "run SQL queries on a profile",
        .operands_usage = "FILE [SQL]",
        .footer = "FILE is a trace, any other profile, or an exported database. Without SQL, the\n"
                  "command reads SQL from standard input; on a terminal, it starts a shell.\n"
                  "'.tables' lists tables, '.schema TABLE' lists columns, and '.help' lists all\n"
                  "such commands.",
        .options = list,
        .option_count = HS_COUNT_OF(list),
        .operands_min = 1,
        .operands_max = 2,
        .operand_missing = "no file was given",
    };
    struct hs_opts_result result;
    int status = hs_args_parse(&spec, argc, argv, &result);
    if (status == HS_ARGS_GO_ON) {
        status = query(&spec, &args, &result);
    }
    hs_opt_list_deinit(&args.heaps);
    return status;
}
