/*
 * Curses: see screen.h.
 */
#include "cli/top/screen.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/top/guard.h"

static SCREEN *screen;
static volatile sig_atomic_t is_ended;

static void on_end(int number)
{
    (void)number;
    is_ended = 1;
}

/* At a fault nothing of curses can be trusted: what the guard would write is written here. */
static void on_fault(int number)
{
    hs_guard_restore();
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_signals(void)
{
    static const int ends[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
    static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS };
    for (size_t i = 0; i < HS_COUNT_OF(ends); i++) {
        sigaction(ends[i], &(struct sigaction){ .sa_handler = on_end }, NULL);
    }
    for (size_t i = 0; i < HS_COUNT_OF(faults); i++) {
        sigaction(faults[i],
                  &(struct sigaction){ .sa_handler = on_fault, .sa_flags = (int)SA_RESETHAND },
                  NULL);
    }
}

int hs_screen_open(void)
{
    setlocale(LC_CTYPE, "");
    screen = newterm(NULL, stdout, stdin);
    if (!screen) {
        return HS_SCREEN_E_TERMINAL;
    }
    catch_signals(); /* after curses, which has handlers of its own */
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(50);
    curs_set(0);
    return 0;
}

void hs_screen_close(void)
{
    if (screen) {
        /* If the guard was killed, the shell has the terminal already: then the kernel would not
         * let us change it. */
        signal(SIGTTOU, SIG_IGN);
        endwin();
        delscreen(screen);
        screen = NULL;
    }
}

void hs_screen_size(unsigned *ret_columns, unsigned *ret_rows)
{
    *ret_columns = COLS > 0 ? (unsigned)COLS : 80;
    *ret_rows = LINES > 0 ? (unsigned)LINES : 24;
}

bool hs_screen_is_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Copies a line; characters beyond ASCII become '?' where the terminal shows no UTF-8. */
static void put_line(int row, const struct hs_text_page *page, const struct hs_text_page_line *line)
{
    char ascii[4096];
    const char *text = page->text.data + line->off;
    size_t bytes = 0;
    if (hs_screen_is_utf8()) {
        mvaddnstr(row, 0, text, (int)line->bytes);
        return;
    }
    for (size_t i = 0; i < line->bytes && bytes < sizeof(ascii); i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x80) {
            ascii[bytes++] = (char)c;
        } else if (c >= 0xC0) {
            ascii[bytes++] = '?';
        }
    }
    mvaddnstr(row, 0, ascii, (int)bytes);
}

void hs_screen_show(const struct hs_text_page *page)
{
    static const attr_t styles[HS_TEXT_PAGE_STYLE_N] = {
        [HS_TEXT_PAGE_PLAIN] = A_NORMAL, [HS_TEXT_PAGE_BOLD] = A_BOLD,
        [HS_TEXT_PAGE_HEAD] = A_REVERSE, [HS_TEXT_PAGE_SELECTED] = A_BOLD | A_UNDERLINE,
        [HS_TEXT_PAGE_DIM] = A_DIM,      [HS_TEXT_PAGE_WARNING] = A_BOLD | A_STANDOUT,
    };
    erase();
    for (size_t i = 0; i < page->count && (int)i < LINES; i++) {
        attrset((int)styles[page->lines[i].style]);
        put_line((int)i, page, &page->lines[i]);
    }
    attrset(A_NORMAL);
    refresh();
}

static int key_of(int code)
{
    switch (code) {
    case KEY_UP:
        return HS_KEY_UP;
    case KEY_DOWN:
        return HS_KEY_DOWN;
    case KEY_LEFT:
        return HS_KEY_LEFT;
    case KEY_PPAGE:
        return HS_KEY_PAGE_UP;
    case KEY_NPAGE:
        return HS_KEY_PAGE_DOWN;
    case KEY_HOME:
        return HS_KEY_HOME;
    case KEY_END:
        return HS_KEY_END;
    case KEY_ENTER:
        return HS_KEY_ENTER;
    case KEY_BACKSPACE:
        return HS_KEY_BACKSPACE;
    case KEY_RESIZE:
        return HS_KEY_RESIZE;
    default:
        return HS_KEY_RESIZE; /* of no meaning here: the page is only shown again */
    }
}

int hs_screen_key(void)
{
    wint_t c;
    int r = get_wch(&c);
    if (r == ERR) {
        return HS_KEY_NONE;
    }
    if (r == KEY_CODE_YES) {
        return key_of((int)c);
    }
    switch (c) {
    case '\r':
    case '\n':
        return HS_KEY_ENTER;
    case 27:
        return HS_KEY_ESCAPE;
    case 8:
    case 127:
        return HS_KEY_BACKSPACE;
    case '\t':
        return HS_KEY_TAB;
    default:
        return (int)c;
    }
}

bool hs_screen_is_ended(void)
{
    return is_ended != 0;
}
