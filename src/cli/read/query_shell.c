/*
 * The shell of heapscope query: libedit reads lines until they form a statement or a command.
 */
#include "cli/read/query_shell.h"

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
#include "sql/language/token.h"

#define HISTORY_LINES 1000

struct shell {
    struct hs_query *query;
    EditLine *editor;
    History *history;
    char history_path[4096]; /* "": none */
    struct hs_buf statement; /* the lines so far */
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

/* Makes the missing folders of a path. */
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

static void run_text(struct shell *shell, const char *text, size_t bytes)
{
    is_stopped = 0;
    int err = hs_query_script(shell->query, text, bytes, NULL);
    shell->query->is_over |= err == -EPIPE;
    /* A failed write is not final: the next statement may write again. */
    shell->query->output.buf.err = 0;
}

/* True: all statements in the text end with a semicolon. */
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
        run_text(shell, line, strlen(line));
        return;
    }
    hs_buf_str(&shell->statement, line);
    const char *text = hs_buf_text(&shell->statement);
    if (is_complete(text, shell->statement.bytes)) {
        run_text(shell, text, shell->statement.bytes);
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
    while (!shell->query->is_over) {
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
    if (shell->statement.bytes > 0 && !shell->query->is_over) {
        run_text(shell, hs_buf_text(&shell->statement), shell->statement.bytes);
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

int hs_query_shell(struct hs_query *query, const char *file_name)
{
    struct shell shell = { .query = query };
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
    hs_sql_set_stop(query->sql, &is_stopped);
    hs_message_info("%s: SQL that ends with a semicolon; .help for more, .quit to leave",
                    file_name);
    read_lines(&shell);
    hs_sql_set_stop(query->sql, NULL);
    close_editor(&shell);
    hs_buf_deinit(&shell.statement);
    return HS_EXIT_STATUS_DONE;
}
