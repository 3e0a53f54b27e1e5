/*
 * The shell of heapscope query: libedit reads lines, which become statements and commands.
 */
#include "cli/query_shell.h"

#include <errno.h>
#include <histedit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "rt/base.h"
#include "sql/token.h"

#define HISTORY_LINES 1000

struct shell {
    struct hs_sql *sql;
    struct hs_query_output *output;
    EditLine *editor;
    History *history;
    char history_path[4096]; /* "" none */
    struct hs_buf statement; /* the lines so far */
    bool is_over;
};

static volatile sig_atomic_t is_stopped;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    is_stopped = 1;
}

static char *prompt(EditLine *editor)
{
    static char first[] = "heapscope> ", next[] = "      ...> ";
    struct shell *shell = NULL;
    el_get(editor, EL_CLIENTDATA, &shell);
    return shell && shell->statement.bytes > 0 ? next : first;
}

/* Makes the folders of a path, as far as they are missing. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

static void choose_history(struct shell *shell)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool is_state = state && state[0] == '/';
    if (is_state || (home && home[0] == '/')) {
        int length = snprintf(shell->history_path, sizeof(shell->history_path),
                              "%s%s/heapscope/query_history", is_state ? state : home,
                              is_state ? "" : "/.local/state");
        if (length < 0 || (size_t)length >= sizeof(shell->history_path)) {
            shell->history_path[0] = '\0';
        }
    }
}

static void run_text(struct shell *shell, const char *text, size_t bytes, const char *origin)
{
    is_stopped = 0;
    int err = hs_query_run(shell->sql, shell->output, text, bytes, origin);
    shell->is_over = shell->is_over || err == -EPIPE;
    /* A failed write is not for ever: the next statement may write again. */
    shell->output->buf.err = 0;
}

static void show_query(struct shell *shell, const char *format, const char *name)
{
    char *text = name ? sqlite3_mprintf(format, name, name) : sqlite3_mprintf("%s", format);
    if (text) {
        run_text(shell, text, strlen(text), NULL);
    }
    sqlite3_free(text);
}

static void command_tables(struct shell *shell, const char *word)
{
    (void)word;
    show_query(
        shell,
        "SELECT name, type FROM (SELECT name, type FROM sqlite_schema UNION ALL SELECT name, "
        "type FROM sqlite_temp_schema) WHERE type IN ('table', 'view') AND name NOT LIKE "
        "'sqlite\\_%' ESCAPE '\\' ORDER BY name",
        NULL);
}

static void command_schema(struct shell *shell, const char *word)
{
    if (word[0] == '\0') {
        show_query(
            shell,
            "SELECT sql FROM (SELECT name, sql FROM sqlite_schema UNION ALL SELECT name, sql "
            "FROM sqlite_temp_schema) WHERE sql IS NOT NULL ORDER BY name",
            NULL);
        return;
    }
    show_query(shell, "SELECT name, type FROM pragma_table_xinfo(%Q) WHERE hidden != 1", word);
}

static void command_modules(struct shell *shell, const char *word)
{
    (void)word;
    const char *name;
    for (size_t i = 0; (name = hs_sql_module_name(i)) != NULL; i++) {
        hs_buf_printf(&shell->output->buf, "%s\n", name);
    }
}

static void command_format(struct shell *shell, const char *word)
{
    if (word[0] == '\0') {
        hs_buf_printf(&shell->output->buf, "%s\n", hs_sql_format_names[shell->output->format]);
        return;
    }
    for (unsigned i = 0; i < HS_SQL_FORMAT_N; i++) {
        if (strcmp(word, hs_sql_format_names[i]) == 0) {
            shell->output->format = (enum hs_sql_format)i;
            return;
        }
    }
    hs_message("'%s' is no format: .format table, csv or json", word);
}

static void command_read(struct shell *shell, const char *word)
{
    struct hs_buf text;
    if (word[0] == '\0') {
        hs_message(".read wants a file");
    } else if (hs_query_read_file(word, &text) == 0) {
        run_text(shell, hs_buf_text(&text), text.bytes, word);
        hs_buf_deinit(&text);
    }
}

static void command_quit(struct shell *shell, const char *word)
{
    (void)word;
    shell->is_over = true;
}

static void command_help(struct shell *shell, const char *word);

static const struct {
    const char *name, *usage, *help;
    void (*run)(struct shell *shell, const char *word);
} commands[] = {
    { ".tables", ".tables", "the tables and views", command_tables },
    { ".schema", ".schema [TABLE]", "how all were made; the columns of one", command_schema },
    { ".modules", ".modules", "what INCLUDE PERFETTO MODULE knows", command_modules },
    { ".format", ".format FORMAT", "table, csv or json; without one: which it is", command_format },
    { ".mode", ".mode FORMAT", "the same, as sqlite3 calls it", command_format },
    { ".read", ".read FILE", "run the SQL in a file", command_read },
    { ".help", ".help", "this list", command_help },
    { ".quit", ".quit", "leave; so does Ctrl-D", command_quit },
};

static void command_help(struct shell *shell, const char *word)
{
    (void)word;
    for (size_t i = 0; i < HS_COUNT_OF(commands); i++) {
        hs_buf_printf(&shell->output->buf, "%-16s %s\n", commands[i].usage, commands[i].help);
    }
    hs_buf_str(&shell->output->buf, "Statements end with a semicolon; Ctrl-C stops one.\n");
}

static void run_command(struct shell *shell, char *line)
{
    size_t name_bytes = strcspn(line, " \t\r\n");
    char *word = line + name_bytes + strspn(line + name_bytes, " \t\r\n");
    size_t word_bytes = strlen(word);
    while (word_bytes > 0 && strchr(" \t\r\n;", word[word_bytes - 1])) {
        word[--word_bytes] = '\0';
    }
    line[name_bytes] = '\0';
    for (size_t i = 0; i < HS_COUNT_OF(commands); i++) {
        if (strcmp(line, commands[i].name) == 0) {
            commands[i].run(shell, word);
            hs_buf_finish(&shell->output->buf);
            return;
        }
    }
    hs_message("there is no command %s; .help lists them", line);
}

/* All statements in the text end with a semicolon. */
static bool is_complete(const char *text, size_t bytes)
{
    size_t off = 0;
    bool is_whole = true;
    while (off < bytes && is_whole) {
        off = hs_sql_token_statement_end(text, bytes, off, &is_whole);
    }
    return is_whole;
}

static void take_line(struct shell *shell, const char *line)
{
    if (shell->statement.bytes == 0 && line[0] == '.') {
        char *copy = strdup(line);
        if (copy) {
            run_command(shell, copy);
        }
        free(copy);
        return;
    }
    hs_buf_str(&shell->statement, line);
    const char *text = hs_buf_text(&shell->statement);
    if (is_complete(text, shell->statement.bytes)) {
        run_text(shell, text, shell->statement.bytes, NULL);
        hs_buf_clear(&shell->statement);
    }
}

static void remember(struct shell *shell, const char *line)
{
    HistEvent event;
    if (shell->history && line[strspn(line, " \t\r\n")] != '\0') {
        history(shell->history, &event, H_ENTER, line);
    }
}

static void read_lines(struct shell *shell)
{
    while (!shell->is_over) {
        int count = 0;
        is_stopped = 0;
        const char *line = el_gets(shell->editor, &count);
        if (is_stopped) {
            /* Ctrl-C drops what was typed. */
            hs_buf_clear(&shell->statement);
            el_reset(shell->editor);
            fputc('\n', stdout);
            fflush(stdout);
        } else if (!line || count <= 0) {
            break;
        } else {
            remember(shell, line);
            take_line(shell, line);
        }
    }
    if (shell->statement.bytes > 0 && !shell->is_over) {
        run_text(shell, hs_buf_text(&shell->statement), shell->statement.bytes, NULL);
    }
}

static void open_editor(struct shell *shell)
{
    HistEvent event;
    shell->editor = el_init("heapscope", stdin, stdout, stderr);
    shell->history = history_init();
    if (!shell->editor) {
        return;
    }
    el_set(shell->editor, EL_CLIENTDATA, shell);
    el_set(shell->editor, EL_PROMPT, prompt);
    el_set(shell->editor, EL_EDITOR, "emacs");
    el_set(shell->editor, EL_SIGNAL, 0);
    if (shell->history) {
        history(shell->history, &event, H_SETSIZE, HISTORY_LINES);
        history(shell->history, &event, H_SETUNIQUE, 1);
        el_set(shell->editor, EL_HIST, history, shell->history);
        if (shell->history_path[0] != '\0') {
            history(shell->history, &event, H_LOAD, shell->history_path);
        }
    }
}

static void close_editor(struct shell *shell)
{
    HistEvent event;
    if (shell->history && shell->history_path[0] != '\0') {
        make_folders(shell->history_path);
        history(shell->history, &event, H_SAVE, shell->history_path);
    }
    if (shell->history) {
        history_end(shell->history);
    }
    if (shell->editor) {
        el_end(shell->editor);
    }
}

int hs_query_shell(struct hs_sql *sql, const char *file_name, struct hs_query_output *output)
{
    struct shell shell = { .sql = sql, .output = output };
    struct sigaction action = { .sa_handler = on_interrupt };
    hs_buf_init(&shell.statement, NULL, NULL);
    choose_history(&shell);
    open_editor(&shell);
    if (!shell.editor) {
        hs_message("cannot use this terminal; give the SQL as an argument or on standard input");
        close_editor(&shell);
        return HS_EXIT_STATUS_FAILED;
    }
    sigaction(SIGINT, &action, NULL);
    hs_sql_set_stop(sql, &is_stopped);
    hs_message_info("%s: SQL that ends with a semicolon; .help for more, .quit to leave",
                    file_name);
    read_lines(&shell);
    hs_sql_set_stop(sql, NULL);
    close_editor(&shell);
    hs_buf_deinit(&shell.statement);
    return HS_EXIT_STATUS_DONE;
}
