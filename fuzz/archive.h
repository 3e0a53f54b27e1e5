/*
 * The inputs that fuzzing found for one target, in one file: corpus/TARGET.archive.
 *
 * One file for each input would be nine tenths of the files of this repository. An archive is lines
 * of text instead, so that git stores a new version as the lines that are new, and merges two
 * versions by keeping the lines of both:
 *
 *     heapscope fuzz inputs 1
 *     af63bd4c8601b7df a\nb\0\\
 *     ...
 *     end
 *
 * Each line between the first and the last is the FNV-1a hash (64 bits, 16 hexadecimal digits) of
 * an input, a blank, and the input's bytes. \n, \0 and \\ stand for a newline, a zero byte and a
 * backslash; all other bytes stand for themselves. archive.py writes archives, sorted by hash; the
 * reader accepts any order, as a merge may leave another one.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>

/*
 * Calls `run` for each input of the archive `text`, which it decodes in place. An input is valid
 * during its call only. Returns how many inputs there were, or -EBADMSG if the archive is damaged,
 * cut short, or has no inputs.
 */
long hs_archive_replay(char *text, size_t len_bytes,
                       void (*run)(const uint8_t *input, size_t input_bytes));
