/*
 * The parts of the page: shared state, and what each file writes. Only for the files of the page.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "page/page.h"
#include "page/page_names.h"
#include "page/page_tree.h"
#include "profile/analyse/select.h"

struct hs_json;

/* In place of a thread, type or age: all that are too many to be kept apart. */
#define HS_PAGE_OTHERS       (-1.0)
#define HS_PAGE_SCOPE_NONE   (-1.0)
#define HS_PAGE_SCOPE_OTHERS (-2.0)

/* A file of the page, and where its things are in the tables of the page. */
struct hs_page_source {
    const struct hs_profile *profile;
    const struct hs_report_options *options;
    struct hs_selection selection; /* what is shown first */
    enum hs_view view;
    const char *view_reason;  /* NULL: there is none */
    bool has_alloc, has_live; /* the file tells them */
    bool *is_kept;            /* by dump: its rows are in the page */
    uint32_t left_out_count;  /* dumps with rows that are not */
    struct hs_page_branch branch;
    uint32_t *heap_of;             /* by heap of the profile */
    uint32_t process_first;        /* the number of the first process in the page */
    uint32_t snapshot_first;       /* and that of the first dump */
    uint32_t scope_first;          /* and that of the first scope */
    uint32_t *families, *descents; /* by process: family.h */
    uint64_t start_ns, end_ns;     /* time 0, and the last time */
};

struct hs_page_thread {
    uint32_t process; /* of the page */
    uint32_t tid, name;
};

struct hs_page_type {
    uint32_t name;
    bool is_given;
};

enum hs_page_document_kind {
    HS_PAGE_PROFILE,
    HS_PAGE_REPORT,
    HS_PAGE_ROWS,
    HS_PAGE_LEDGER,
    HS_PAGE_TREND,
};

struct hs_page_document {
    enum hs_page_document_kind kind;
    uint32_t number; /* in its name: of the file, snapshot or process */
    uint32_t source; /* index */
    uint32_t idx;    /* of the dump or process in the profile */
};

struct hs_page {
    struct hs_page_source *sources;
    uint32_t source_count;
    struct hs_page_names names;
    struct hs_page_tree tree;
    struct hs_intern heap_ids; /* by name */
    struct hs_intern thread_ids, type_ids;
    uint32_t *heaps; /* names */
    struct hs_page_thread *threads;
    struct hs_page_type *types;
    size_t heap_capacity, thread_capacity, type_capacity;
    struct hs_page_document *documents;
    uint32_t document_count;
    size_t document_capacity;
    uint32_t title; /* a string */
};

/* A time of a file in milliseconds from its start; NaN for 0, which means that it is unknown. */
double hs_page_ms(const struct hs_page_source *source, uint64_t time_ns);

/* page_choice.c: chooses the dumps whose rows are in the page. 0 or -ENOMEM. */
int hs_page_choose(struct hs_page_source *source, uint64_t row_budget);

/* page_groups.c: puts the names of heaps, threads and types of a file into the tables. */
int hs_page_groups_add(struct hs_page *page, struct hs_page_source *source);
/* The index of the thread, or the type, of a part. */
double hs_page_thread_of(const struct hs_page *page, const struct hs_page_source *source,
                         uint32_t process, const struct hs_profile_part *part);
double hs_page_type_of(const struct hs_page *page, const struct hs_page_source *source,
                       const struct hs_profile_part *part);
/* Writes the fields "heaps", "threads", "types", "scopes" and "ages" of the open object. */
void hs_page_groups_write(const struct hs_page *page, struct hs_json *json);

/* page_snapshots.c: writes the fields "processes" and "snapshots" of the open object. */
void hs_page_processes_write(const struct hs_page *page, struct hs_json *json);
void hs_page_snapshots_write(const struct hs_page *page, struct hs_json *json);

/* page_tracks.c: writes the fields "tracks" and "changes" of the open object. */
void hs_page_tracks_write(const struct hs_page *page, struct hs_json *json);

/* page_head.c: writes the document "profile". */
void hs_page_profile_write(const struct hs_page *page, struct hs_json *json);

/* page_rows.c: writes the rows of a dump. 0 or -ENOMEM. */
int hs_page_rows_write(const struct hs_page *page, const struct hs_page_source *source,
                       uint32_t dump_idx, struct hs_json *json);

/* The rows of a dump: samples with equal node and heap are one row. */
struct hs_page_rows {
    const struct hs_page *page;
    const struct hs_page_source *source;
    const struct hs_profile_dump *dump;
    uint32_t *order; /* the samples, row after row; behind the dump's first sample */
    uint32_t *first; /* by row, and one more: where its samples begin in `order` */
    uint32_t count;
};

/* page_row_parts.c: writes the field "parts" of the open object. 0 or -ENOMEM. */
int hs_page_row_parts_write(const struct hs_page_rows *rows, struct hs_json *json);

/* page_report.c: writes documents that other views have. */
int hs_page_report_write(const struct hs_page_source *source, struct hs_buf *buf);
int hs_page_ledger_write(const struct hs_page_source *source, uint32_t dump_idx,
                         struct hs_buf *buf);
int hs_page_trend_write(const struct hs_page_source *source, uint32_t process, struct hs_buf *buf);
/* Does a process have enough snapshots for a trend? */
bool hs_page_has_trend(const struct hs_page_source *source, uint32_t process);

/* The key of a field that is null if the number is 0, or not finite. */
void hs_page_kv_known(struct hs_json *json, const char *key, double value);
