/*
 * Names that end up in a shell command: names of files that are called after a process, and words
 * of commands that we suggest to the user. A process can choose any name, "$(reboot)" for example.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stddef.h>

/*
 * Replaces by '_' each byte with a meaning to a shell, a terminal or a file system. Letters of all
 * languages stay.
 */
void hs_shell_escape(char *name);

/*
 * Writes `text` so that a shell reads it back as one word: unchanged where possible, otherwise in
 * quotes. Cut to `word_bytes` - 1. Returns ret_word.
 */
const char *hs_shell_word(const char *text, char *ret_word, size_t word_bytes);

/* Enough for the longest path, every byte quoted. */
#define HS_SHELL_WORD_BYTES (4 * 4096 + 3)
