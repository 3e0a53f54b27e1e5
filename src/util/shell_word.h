/*
 * Names that end up in a command line: of files that are called after a process, and in commands that we tell people to
 * type. A process is called whatever it likes: "$(reboot)", say.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stddef.h>

/* '_' for each byte that a shell, a terminal or a file system takes for something else. Letters of all languages stay. */
void hs_shell_escape(char *name);

/* Writes `text` as a shell reads it back as one word: as it is, where it can be, else in quotes; cut to
 * `word_bytes` - 1. Returns ret_word. */
const char *hs_shell_word(const char *text, char *ret_word, size_t word_bytes);

/* Room for a path's worst case. */
#define HS_SHELL_WORD_BYTES (4 * 4096 + 3)
