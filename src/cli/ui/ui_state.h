/*
 * The state of `heapscope ui`: the files that it shows, and answers that are kept.
 *
 * Handlers run in forked processes and see the state of that moment. What they find out for later
 * requests they leave as a note in their answer, which ui_live.c reads in the server.
 *
 * Holds     files are only added, so that an index means the same file as long as the server runs.
 * Threads   main thread only.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "http/http_server.h"

#define HS_UI_FILES_MAX 4096U
/* Files of one page. */
#define HS_UI_PAGE_FILES_MAX 16U
#define HS_UI_STORED_MAX     4U
#define HS_UI_DOCUMENT_BYTES 32
/* Snapshots that only the page wants: older ones are deleted. */
#define HS_UI_MOMENTS_MAX 8U

struct hs_ui_file {
    char *path;    /* absolute */
    bool is_given; /* on the command line; false: recorded from the page */
    /* a snapshot that is deleted when there are newer ones, and at the end */
    bool is_moment;
};

/* Which files a request is about, as they were. */
struct hs_ui_files_key {
    uint32_t count;
    uint32_t idx[HS_UI_PAGE_FILES_MAX];
    struct {
        dev_t dev;
        ino_t ino;
        off_t bytes;
        struct timespec modified;
    } stats[HS_UI_PAGE_FILES_MAX];
};

/* A document of the page in a stored answer. */
struct hs_ui_document {
    char name[HS_UI_DOCUMENT_BYTES];
    uint64_t off, bytes;
};

/* All documents of a page, as a job wrote them. */
struct hs_ui_stored {
    struct hs_ui_files_key key;
    int fd; /* -1: unused */
    struct hs_ui_document *documents;
    size_t count;
    uint64_t used; /* when it was last used: a counter */
};

/* An answer that is kept because making it costs something. */
struct hs_ui_kept {
    int fd; /* -1: none */
    uint64_t until_ns;
};

struct hs_ui {
    struct hs_ui_file files[HS_UI_FILES_MAX];
    size_t file_count;
    char folder[PATH_MAX];        /* where recordings go */
    char moment_folder[PATH_MAX]; /* where moments go; "": it could not be made */
    struct hs_ui_stored stored[HS_UI_STORED_MAX];
    uint64_t use_count;
    struct hs_ui_kept processes, sessions;
    struct hs_http_server *server;
    uint64_t start_real_ns;
    uint64_t start_count, stop_count; /* recordings begun and ended from the page */
};

/* Adds a file, unless it is there. 0, -ENOMEM, or -ENOSPC: there are too many. */
int hs_ui_add_file(struct hs_ui *ui, const char *path, bool is_given);
/* Makes the folder for moments. */
void hs_ui_make_moment_folder(struct hs_ui *ui);
/* Frees all, and deletes moments and their folder. */
void hs_ui_deinit(struct hs_ui *ui);

/* The file of the argument "file"; NULL, after the answer was set to an error. */
const struct hs_ui_file *hs_ui_file_of(const struct hs_ui *ui,
                                       const struct hs_http_request *request,
                                       struct hs_http_answer *answer);
