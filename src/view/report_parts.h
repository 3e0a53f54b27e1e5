/*
 * The parts of the report: shared state, and what each file writes. Only for the files of the
 * report.
 */
#pragma once

#include "profile/analyse/aggregate.h"
#include "profile/analyse/select.h"
#include "util/buf.h"
#include "util/human.h"
#include "util/table.h"
#include "view/format_interval.h"
#include "view/report.h"
#include "view/report_amount.h"

struct hs_json;
struct hs_ledger_sums;

/* Makes paragraphs JSON instead of text: see report_json_words.c. */
struct hs_report_words {
    struct hs_json *json;
    const char *key;          /* the field that the next paragraph is; NULL: it is an element */
    const char *const *views; /* of warnings: what they touch; NULL: paragraphs are strings */
    bool is_serious;
};

struct hs_report {
    const struct hs_profile *profile;
    const struct hs_report_options *options;
    struct hs_buf *buf;
    struct hs_selection selection;
    enum hs_view view;
    const char *view_reason; /* NULL: the user asked for it */
    struct hs_amount total;  /* of the view's quantity */
    struct hs_agg agg;       /* by line */
    uint32_t main_module;    /* the program itself, whose name is not repeated; UINT32_MAX:
                              * several */
    struct hs_agg_row *rows;
    uint32_t row_count;
    struct hs_report_words *words; /* NULL: text is written */
};

/* report.c: does a line of `columns` columns fit? */
bool hs_report_fits(const struct hs_report *report, size_t columns);
/* Writes a table with titles, and frees it. `give_way`: as in struct hs_table_style. */
void hs_report_write_table(const struct hs_report *report, struct hs_table *table,
                           const char *give_way);

/* report_head.c: what ran, what was measured, how precisely */
void hs_report_write_head(struct hs_report *report);
/* The paragraphs of it: what stands above and below the table. */
void hs_report_write_head_words(struct hs_report *report);
/* Writes the first `bytes` bytes of a text on one line, even if it is a script of several lines. */
void hs_report_write_on_line(struct hs_buf *buf, const char *text, size_t bytes);
/* Says by how much the figures are too low, as far as that is known. */
void hs_report_write_missing(struct hs_report *report);
/* report_sampling.c: how precise the figures are */
void hs_report_write_sampling(struct hs_report *report);
/* report_processes.c: nothing for a single process */
void hs_report_write_processes(struct hs_report *report);

/* report_heaps.c: says which heaps the figures contain; nothing when there is only one */
void hs_report_write_heap_words(struct hs_report *report);
/* The narrowest and the widest interval among the counted heaps that are sampled; if there is none,
 * or that of one is not known, those of the selection. */
struct hs_report_intervals {
    uint64_t least_bytes, most_bytes;
};
/* Appended to `others`: the interval of Python's objects if it is another one, and the names of
 * heaps whose blocks are all recorded. */
struct hs_report_intervals hs_report_intervals_of(const struct hs_report *report,
                                                  struct hs_buf *others);
/* The table of all heaps; nothing when there is only one. */
void hs_report_write_heaps(struct hs_report *report);
/*
 * Writes the field "heaps" of the open object: the values of each heap, of those that the figures
 * contain and of the others; and the field of report_selection.c.
 */
int hs_report_json_heaps(const struct hs_selection *selection, struct hs_json *json);

/* report_cut_modules.c: in which modules stacks end that should go on; at most `max` of them */
void hs_report_write_cut_modules(struct hs_report *report, uint32_t max);
void hs_report_json_cut_modules(struct hs_report *report, struct hs_json *json);

/* report_nameless.c: the modules without names, as the recording found them */
void hs_report_json_nameless(struct hs_report *report, struct hs_json *json);

/* report_loss_times.c: hs_loss_describe() of a sum over the selected processes, and when it was */
void hs_report_describe_loss(const struct hs_report *report, const struct hs_profile_loss *loss,
                             struct hs_buf *buf);
/* report_losses.c: losses that make figures wrong or uncertain */
void hs_report_write_losses(struct hs_report *report);
/*
 * A figure's margin, as hs_format_margin() writes it; "" when data is missing, because no margin
 * holds then. Returns `out`.
 */
char *hs_report_margin(const struct hs_report *report, char *out, bool is_count,
                       const struct hs_figure *figure);
/* Is data known to be missing? Then a line of the report begins with "!". */
bool hs_report_is_incomplete(const struct hs_report *report);
/* Was every process of the selection recorded from its first allocation on? */
bool hs_report_is_from_start(const struct hs_report *report);
/* All counters of the recorder, for --health. */
void hs_report_write_health(struct hs_report *report);
/* Writes a highlighted line, followed by ": COUNT" unless `count` is 0. */
void hs_report_warn(struct hs_report *report, const char *text, uint64_t count);

/* report_selection.c: does any process of the selection have heaps that the recording left out? */
bool hs_report_has_left_out(const struct hs_report *report);
/* Says that libc.malloc was left out; report_heaps.c names the other heaps. */
void hs_report_write_left_out(struct hs_report *report);
/* Writes the field "left_out_heaps" of the open object, if there are any. Returns 0 or -errno. */
int hs_report_json_left_out(const struct hs_selection *selection, struct hs_json *json);
/* Says which heaps were asked for that no process registered. */
void hs_report_warn_unregistered(struct hs_report *report);

/*
 * report_refused.c: the processes that were not profiled. False: there are more than were listed.
 */
bool hs_report_write_refused(struct hs_report *report);
/* Writes the field "not_profiled" of the open object. */
void hs_report_json_refused(struct hs_report *report, struct hs_json *json);

/* report_answer.c: where did the memory go? */
void hs_report_write_answer(struct hs_report *report);
/* The paragraph of it that names functions. */
void hs_report_write_answer_words(struct hs_report *report);

/*
 * report_json_words.c: writes the fields "answer", "resident_answer", "head" and "warnings" of the
 * open object: paragraphs of the text, not wrapped. Sorts the rows.
 */
void hs_report_json_words(const struct hs_report *report, struct hs_json *json);
/* Writes a paragraph as JSON. */
void hs_report_words_add(struct hs_report_words *words, const char *text);
/* The next warnings are of a loss that makes no figure too low: chooses what they touch. */
void hs_report_words_of_loss(struct hs_report_words *words, const char *loss_name);

/* report_changes.c: changes of the interval; nothing when it stayed the same */
void hs_report_write_changes(struct hs_report *report);
/*
 * Writes the field "interval_changes" of the open object; nothing when the interval stayed the
 * same.
 */
void hs_report_json_changes(const struct hs_report *report, struct hs_json *json,
                            const struct hs_profile_dump *dump);

/* report_named.c: the snapshots that have names; nothing when there are none */
void hs_report_write_named(struct hs_report *report);
/* Says how many live blocks the snapshots list (report_blocks.c). */
void hs_report_write_block_words(struct hs_report *report);
/* The same of one snapshot, in the object that is open. */
void hs_report_json_blocks(const struct hs_profile_dump *dump, struct hs_json *json);
/*
 * Writes the fields "snapshot_name" and "named_snapshots" of the open object, a process whose
 * snapshot `dump_idx` is shown; nothing when there are none.
 */
void hs_report_json_named(const struct hs_report *report, struct hs_json *json, uint32_t dump_idx);

/* report_counters.c: how the resident memory changed; nothing when it was not recorded */
void hs_report_write_counters(struct hs_report *report);
/*
 * Writes the field "counters" of the open object: those of a process, or of the machine
 * (HS_PROFILE_NO_PROCESS).
 */
void hs_report_json_counters(const struct hs_report *report, struct hs_json *json, uint32_t process,
                             uint64_t start_ns);

/* The point at which the most memory of a process was resident; NULL: it was not counted. */
const struct hs_profile_counter *hs_report_highest_rss(const struct hs_report *report,
                                                       uint32_t process);

/* report_ledger.c: what the resident memory consisted of. Returns 0 or -errno. */
int hs_report_write_ledger(struct hs_report *report);
/* report_ledger_processes.c: the same for each process. Returns 0 or -errno. */
int hs_report_write_ledger_processes(struct hs_report *report);
/* report_holders.c: the heaps and functions whose blocks it contains. Returns 0 or -errno. */
int hs_report_write_holders(struct hs_report *report, const struct hs_ledger_sums *now);

/*
 * report_ledger_words.c: writes a paragraph that names the parts of the resident memory: of one
 * process, at the reading with the most. Writes nothing when no ledger was read.
 */
void hs_report_write_ledger_words(struct hs_report *report);
bool hs_report_has_ledger(const struct hs_report *report);
/*
 * Writes when the resident memory and the live blocks were largest, and its PSS and swap, if they
 * matter; `peak` are the sums at the reading with the most. Writes nothing for several processes.
 */
void hs_report_write_rss_moments(struct hs_report *report, const struct hs_ledger_sums *now,
                                 const struct hs_ledger_sums *peak);
/* The time between two moments; 0 when the first one is earlier than the start. */
uint64_t hs_report_after_ns(uint64_t time_ns, uint64_t start_ns);

/* Where the text says what is missing. */
static inline const char *hs_report_where_missing(const struct hs_report *report)
{
    return report->words ? "the warnings" : "the lines below that begin with \"!\"";
}

/*
 * report_ledger_json.c: writes the fields "ledger" and "rss_peak_ledger" of the open object;
 * nothing when no ledger was read. Returns 0 or -errno.
 */
int hs_report_json_ledger(const struct hs_report *report, struct hs_json *json);
/* Writes the field "ledger_sums" of the open object, a process. Returns 0 or -errno. */
int hs_report_json_process_ledger(const struct hs_report *report, struct hs_json *json,
                                  const struct hs_profile_dump *dump);

/* report_mapped.c: which stacks mapped the resident memory of the heap mmap; nothing when that was
 * not read. Returns 0 or -errno. */
int hs_report_write_mapped(struct hs_report *report);
/* Writes the field "mapped_stacks" of the open object, if it was read. Returns 0 or -errno. */
int hs_report_json_mapped(const struct hs_report *report, struct hs_json *json);

/* report_pins.c: which stacks keep nearly empty pages; nothing when that was not read. Returns 0 or
 * -errno. */
int hs_report_write_pins(struct hs_report *report);
/* Writes the field "pinned_pages" of the open object, if it was read. Returns 0 or -errno. */
int hs_report_json_pins(const struct hs_report *report, struct hs_json *json);

/* report_by.c: writes the functions of a stack from the one that names it outwards, on one line. */
void hs_report_write_stack_line(const struct hs_report *report, uint32_t leaf, struct hs_buf *buf);
/* report_lifetimes.c: the lifetimes of freed blocks. Returns 0 or -errno. */
int hs_report_write_lifetimes(struct hs_report *report);
/* One line about temporary blocks, if lifetimes were recorded. Returns 0 or -errno. */
int hs_report_write_temporary(struct hs_report *report);
/* Writes the field "lifetimes" of the open object, if the options ask for it. 0 or -errno. */
int hs_report_json_lifetimes(const struct hs_report *report, struct hs_json *json);
/* report_by.c: the parts, grouped as the options say. Returns 0 or -errno. */
int hs_report_write_by(struct hs_report *report);
/* The largest threads; nothing when there is only one, or none is known. Returns 0 or -errno. */
int hs_report_write_threads(struct hs_report *report);
/* Writes the field "parts" of the open object; nothing when the options ask for no groups. Returns
 * 0 or -errno. */
int hs_report_json_by(const struct hs_report *report, struct hs_json *json);
/* Writes the fields of the open object, a group: what it is of, and its amount. */
void hs_report_json_group(const struct hs_report *report, struct hs_json *json, enum hs_part_by by,
                          const struct hs_part_group *group);

/* report_tables.c: tables of functions, and the largest stacks */
void hs_report_write_functions(struct hs_report *report);
/* report_tables.c: the largest stacks. Returns 0 or -errno. */
int hs_report_write_stacks(struct hs_report *report);

/* report_tables.c: writes the frames of a stack, innermost first, one a line. */
void hs_report_write_frames(struct hs_report *report, uint32_t leaf);

/* report_leaks.c: the stacks that leak, and those that may. Returns 0 or -errno. */
int hs_report_write_leaks(struct hs_report *report);
/* Writes the field "leaks" of the open object; nothing when the options do not ask for it. Returns
 * 0 or -errno. */
int hs_report_json_leaks(const struct hs_report *report, struct hs_json *json);

/* report_tree.c: the call tree */
int hs_report_write_tree(struct hs_report *report);
/* Writes the lines of a tree by function, whose figures are shares of `total`. *has_chain becomes
 * true if a function has no figures, and keeps its value otherwise. */
int hs_report_write_tree_of(struct hs_report *report, const struct hs_agg *agg, double total,
                            bool *has_chain);
/* With has_chain, says behind trees what it means that a function has no figures. */
void hs_report_write_chain_words(struct hs_report *report, bool has_chain);

/* report_tree_by.c: a tree for each group of the parts that the options ask for. Returns 0 or
 * -errno. */
int hs_report_write_trees(struct hs_report *report);
/* Writes the field "parts" of the open object: as hs_report_json_by(), with a tree in each of the
 * innermost groups. Returns 0 or -errno. */
int hs_report_json_trees(struct hs_report *report, struct hs_json *json);

/* report_focus.c: which stacks the report is of; nothing without a focus */
void hs_report_write_focus(struct hs_report *report);
/* The largest functions by total are looked at, so many of them. */
#define HS_REPORT_FOLDED_ROWS 200
/* Writes which of the largest functions are folded code, and what to do about it; nothing if none
 * is. Sorts the rows. */
void hs_report_write_folded(struct hs_report *report);
/* Writes why large functions have no name, for each module and each runtime once; nothing if all
 * have one. Sorts the rows. */
void hs_report_write_nameless(struct hs_report *report);
/* All functions that share the code of this function, "a | b"; NULL: no others are known. */
const char *hs_report_folded(const struct hs_report *report, uint32_t function);
/* Writes the field "focus" of the open object; nothing without a focus. */
void hs_report_json_focus(const struct hs_report *report, struct hs_json *json);

/* report_json.c: the whole report as JSON */
int hs_report_write_json(struct hs_report *report);
/* Writes the field "frames" of the open object: a stack, the innermost frame first. */
void hs_report_json_frames(const struct hs_report *report, struct hs_json *json, uint32_t leaf);
/* Writes a function's name and module as fields of the open object. */
void hs_report_json_function(const struct hs_report *report, struct hs_json *json,
                             const struct hs_agg *agg, uint32_t function);
/* report_json_tree.c: writes the field "tree" of the open object */
int hs_report_write_json_tree(struct hs_report *report, struct hs_json *json);
/* Writes the field "tree" of the open object: a tree by function with this total. */
int hs_report_json_tree_of(struct hs_report *report, struct hs_json *json, const struct hs_agg *agg,
                           const struct hs_amount *total);

/* Writes the title of a section, after an empty line. */
void hs_report_heading(struct hs_report *report, const char *title, const char *remark);

/* Writes a paragraph, wrapped to the terminal; each line begins with `indent`. */
void hs_report_write_wrapped(struct hs_report *report, const char *indent, const char *text);

/* The value of an amount in the view's unit. */
static inline double hs_report_value(const struct hs_report *report, const struct hs_amount *amount)
{
    return hs_view_value(report->view, amount);
}

/*
 * Writes where a node is: "file.c:88". If only the module is known and it is not the program
 * itself, writes the module's name in brackets. `buf` may stay empty.
 */
void hs_report_write_place(const struct hs_report *report, uint32_t node, struct hs_buf *buf);

/* Writes "[libfoo.so]" for a named function outside the program itself; otherwise nothing. */
void hs_report_write_module(const struct hs_report *report, const struct hs_agg_function *function,
                            struct hs_buf *buf);
