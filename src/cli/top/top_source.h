/*
 * What `top` shows of one process: the rows of a file, or those of a process that is watched.
 *
 *     hs_top_source_watch(&place, pid, 1000, &source);     or hs_top_source_file()
 *     poll source.link.fd; hs_top_source_take(&source);    1: there are new rows
 *     hs_top_source_ask(&source);                          when they were shown
 *
 * Making rows of a large process takes time: the next update is asked for only after some times as
 * long (HS_TOP_REST).
 *
 * Threads   main thread only.
 * Fails     file: with the exit status, after a message. watch: -errno, or -EREMOTEIO with the
 *           words of the process that records.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/daemon_client/endpoints.h"
#include "cli/top/top_rows.h"
#include "watch/receive/watch_growth.h"
#include "watch/receive/watch_link.h"
#include "watch/receive/watch_names.h"

#define HS_TOP_HISTORY 240U
/* After making rows it rests for so many times as long. */
#define HS_TOP_REST 4U

struct hs_top_source {
    bool is_file;
    char title[256];            /* the file's path, or the process's name; raw */
    char session[64];           /* that records it; "": a file */
    uint32_t pid;               /* 0: several processes */
    struct hs_profile *profile; /* NULL: nothing has come yet */
    struct hs_top_rows rows;
    double live_bytes, live_count, alloc_bytes;
    double growth;           /* bytes a second */
    uint64_t rss_bytes;      /* 0: unknown */
    uint64_t rss_peak_bytes; /* of a file: the highest, of several processes added up; 0: unknown */
    uint64_t anon_bytes, swap_bytes;
    uint64_t lost_count;
    /* Between samples, of the heaps with the smallest and the largest; 0: unknown. */
    uint64_t interval_min_bytes, interval_max_bytes;
    double history[HS_TOP_HISTORY]; /* live bytes at each update, the oldest first */
    size_t history_count;
    const char *end; /* why there is nothing new any more; NULL: there may be */
    /* Of a process that is watched: */
    struct hs_watch_link link;
    struct hs_watch_names names;
    struct hs_watch_growth growth_of[HS_TOP_KIND_N], growth_of_all;
    uint64_t ask_ns; /* CLOCK_MONOTONIC: not before that */
};

/* Loads a file. 0, or the exit status, after a message. */
int hs_top_source_file(const char *path, struct hs_top_source *ret_source);
/* Begins to watch a process that `place` records. 0, or see Fails; *ret_why has the words. */
int hs_top_source_watch(struct hs_endpoint *place, uint32_t pid, uint32_t interval_ms,
                        struct hs_top_source *ret_source, struct hs_buf *ret_why);
/* Takes what has come. 1: there are new rows, or the end; 0: neither; or -ENOMEM. */
int hs_top_source_take(struct hs_top_source *source);
/* Asks for the next update, if it is time. */
void hs_top_source_ask(struct hs_top_source *source, uint64_t now_ns);
/* Frees everything. Accepts a zeroed source whose link.fd is -1. */
void hs_top_source_end(struct hs_top_source *source);
