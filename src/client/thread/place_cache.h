/*
 * The frames of interpreters that a thread has met before: a place in a program (its function and
 * its instruction, struct hs_script_place) leads to the id of its frame.
 *
 * A frame's name, file and line are read from many words of the interpreter's memory. That takes
 * long, and memory may be freed and used again for another function. So with the id the cache keeps
 * each word that the description was read from, with its value (script_memory.h). A place is
 * believed when all these words are the same as then: whatever lies there now would be described in
 * the same way. One sample looks at the words of a place once, however often the place is in the
 * stack. The name of the file is kept apart, since many places have the same.
 *
 * The words are read only in pages that the kernel calls readable (readable_pages.h): it was asked
 * when the place was described, and is asked again whenever the pages are forgotten.
 *
 * Ensures   a place that is in the table has all its words. A signal handler may leave by longjmp
 *           at any moment: an entry is invalid while it is being written.
 * Threads   one.
 * Fails     a description that depends on too many words, or on memory that could not be read, is
 *           made anew each time.
 */
#pragma once

#include "client/script/script_frames.h"

#define HS_PLACE_ENTRIES 2048U
#define HS_PLACE_WORDS   32768U

/* Results that are no ids of frames, beside HS_ID_NONE (no room). */
#define HS_PLACE_WRONG   (UINT32_MAX - 1) /* it is not what the reader knows */
#define HS_PLACE_NOTHING (UINT32_MAX - 2) /* no frame is to be shown */

/* A place, or the name of a file. */
struct hs_place_entry {
    uint64_t code_va, at_va; /* of a file's name: its address, and 0 */
    uint32_t kind;           /* with the language; 0: the entry is unused */
    uint32_t id;             /* of the frame, or of the text in BYTES */
    uint64_t era;            /* of the pages in which its words are */
    uint32_t sample;         /* which looked at the words last */
    uint32_t word_idx, word_count;
    uint32_t serial;      /* of the description: an entry that is replaced gets another one */
    uint32_t file_idx;    /* the entry of its file's name, */
    uint32_t file_serial; /* if that has this number; 0: it has none */
};

struct hs_place_cache {
    struct hs_place_entry entries[HS_PLACE_ENTRIES];
    struct hs_script_read words[HS_PLACE_WORDS];
    uint32_t word_count; /* in use, also by entries that were replaced */
    uint32_t sample;     /* the number of the current one */
    uint32_t serial;
    uint32_t region_number; /* for which the ids are */
    struct hs_readable_pages *pages;
    /* While a place is described: */
    struct hs_script_reads reads, file_reads;
    struct hs_script_frame frame;
};

/* Who describes places. */
struct hs_place_reader {
    hs_script_describe_fn *describe;
    const void *roots;
    uint32_t language; /* enum hs_code_language */
};

/* A sample begins. `region_number` is another one for each region. */
void hs_place_cache_begin(struct hs_place_cache *cache, struct hs_readable_pages *pages,
                          uint32_t region_number);

/* The id of the frame of a place, or one of the results above. */
uint32_t hs_place_cache_find(struct hs_place_cache *cache, const struct hs_place_reader *reader,
                             const struct hs_script_place *place);
