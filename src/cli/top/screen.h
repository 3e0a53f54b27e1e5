/*
 * The terminal: shows pages, and reads keys. Everything that `top` knows of curses is here.
 *
 * However the process ends, the terminal is restored: at a signal that asks for the end, the loop
 * ends (hs_screen_is_ended); at a fault, a handler restores it and the process ends by the fault;
 * and if the process is killed, its guard does it (guard.h).
 *
 * Threads   main thread only.
 * Fails     HS_SCREEN_E_TERMINAL: the terminal is of a kind that curses does not know.
 */
#pragma once

#include <stdbool.h>

#include "cli/top/text_page.h"

#define HS_SCREEN_E_TERMINAL 1

/* Keys beyond characters. */
enum hs_key {
    HS_KEY_NONE = -1, /* there is none to read */
    HS_KEY_UP = 0x110000,
    HS_KEY_DOWN,
    HS_KEY_LEFT,
    HS_KEY_PAGE_UP,
    HS_KEY_PAGE_DOWN,
    HS_KEY_HOME,
    HS_KEY_END,
    HS_KEY_ENTER,
    HS_KEY_ESCAPE,
    HS_KEY_BACKSPACE,
    HS_KEY_TAB,
    HS_KEY_RESIZE, /* the size has changed: show the page again */
};

/* Takes over the terminal. 0 or HS_SCREEN_E_TERMINAL, after which nothing has changed. */
int hs_screen_open(void);
/* Gives the terminal back. Does nothing if it is not open. */
void hs_screen_close(void);

/* Its size now. */
void hs_screen_size(unsigned *ret_columns, unsigned *ret_rows);
/* Does it show UTF-8? */
bool hs_screen_is_utf8(void);
/* Shows a page. */
void hs_screen_show(const struct hs_text_page *page);
/* The next key, without waiting: a character, an enum hs_key, or HS_KEY_NONE. */
int hs_screen_key(void);
/* Has a signal asked for the end? */
bool hs_screen_is_ended(void);
