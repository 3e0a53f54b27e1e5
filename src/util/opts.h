/*
 * Command lines as a table: each command declares its options. Parsing, error messages and --help
 * all come from that one declaration, so that they cannot disagree.
 *
 *     struct hs_opt_list envs = { 0 };
 *     uint64_t interval_bytes = 4096;
 *     const char *out = NULL;
 *     bool is_quiet = false, is_following = true;
 *     const struct hs_opt options[] = {
 *         HS_OPT_SIZE('i', "interval", "BYTES", &interval_bytes, 1, UINT32_MAX,
 *                     "mean bytes between samples (default 4096; 1 records everything)"),
 *         HS_OPT_STRING('o', "output", "FILE", &out, "where the trace goes"),
 *         HS_OPT_FLAG('q', "quiet", &is_quiet, "print nothing but errors"),
 *         HS_OPT_FLAG_OFF(0, "no-follow", &is_following, "leave child processes alone"),
 *     };
 *
 * Accepted forms: -q, -qi4096, -i 4096, --interval 4096, --interval=4096, and -- to end the
 * options. Abbreviated names are refused unless the command sets `is_abbreviated`: a script with an
 * abbreviated name would break when an option is added. --help and -h need no entry. Strings point
 * into argv: nothing is copied.
 *
 * Ensures   outputs are written only through the pointers of the table, in the order of argv. Of a
 *           repeated option the last value counts, except for a list.
 * Threads   no state.
 * Fails     -EINVAL with one line in the result that names the option and says what to do; -ENOMEM.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum hs_opt_kind {
    HS_OPT_KIND_FLAG,
    HS_OPT_KIND_FLAG_OFF,
    HS_OPT_KIND_STRING,
    HS_OPT_KIND_LIST,
    HS_OPT_KIND_SIZE,
    HS_OPT_KIND_DURATION,
    HS_OPT_KIND_NUMBER,
    HS_OPT_KIND_CHOICE,
};

/* The values of an option that may be given several times. A zero-initialized list is empty. */
struct hs_opt_list {
    const char **items; /* the items point into argv */
    size_t count, capacity;
};

/* Frees the array; the strings belong to argv. */
void hs_opt_list_deinit(struct hs_opt_list *list);

struct hs_opt {
    char short_name;       /* 0: none */
    const char *long_name; /* without dashes */
    const char *value_name;
    const char *help; /* one paragraph, wrapped when printed; NULL: accepted, but not shown */
    enum hs_opt_kind kind;
    union {
        bool *flag;
        const char **string;
        struct hs_opt_list *list;
        uint64_t *number; /* bytes, nanoseconds or a count */
        unsigned *choice; /* index in choices */
    } ret;
    uint64_t min, max; /* of numbers, inclusive */
    const char *const *choices;
    size_t choice_count;
};

#define HS_OPT_FLAG(short_, long_, ret_flag, help_)                                                \
    {                                                                                              \
        .short_name = (short_), .long_name = (long_), .help = (help_), .kind = HS_OPT_KIND_FLAG,   \
        .ret.flag = (ret_flag)                                                                     \
    }
/* When this option is given, the flag is set to false. */
#define HS_OPT_FLAG_OFF(short_, long_, ret_flag, help_)                                            \
    {                                                                                              \
        .short_name = (short_), .long_name = (long_), .help = (help_),                             \
        .kind = HS_OPT_KIND_FLAG_OFF, .ret.flag = (ret_flag)                                       \
    }
#define HS_OPT_STRING(short_, long_, value_, ret_string, help_)                                    \
    {                                                                                              \
        .short_name = (short_), .long_name = (long_), .value_name = (value_), .help = (help_),     \
        .kind = HS_OPT_KIND_STRING, .ret.string = (ret_string)                                     \
    }
#define HS_OPT_LIST(short_, long_, value_, ret_list, help_)                                        \
    {                                                                                              \
        .short_name = (short_), .long_name = (long_), .value_name = (value_), .help = (help_),     \
        .kind = HS_OPT_KIND_LIST, .ret.list = (ret_list)                                           \
    }
#define HS_OPT_NUMERIC_(kind_, short_, long_, value_, ret_number, min_, max_, help_)               \
    {                                                                                              \
        .short_name = (short_), .long_name = (long_), .value_name = (value_), .help = (help_),     \
        .kind = (kind_), .ret.number = (ret_number), .min = (min_), .max = (max_)                  \
    }
#define HS_OPT_SIZE(...)     HS_OPT_NUMERIC_(HS_OPT_KIND_SIZE, __VA_ARGS__)
#define HS_OPT_DURATION(...) HS_OPT_NUMERIC_(HS_OPT_KIND_DURATION, __VA_ARGS__)
#define HS_OPT_NUMBER(...)   HS_OPT_NUMERIC_(HS_OPT_KIND_NUMBER, __VA_ARGS__)
/* `choices_` is an array of strings; `ret_choice` receives the index of the one that was given. */
#define HS_OPT_CHOICE(short_, long_, value_, ret_choice, choices_, help_)                          \
    {                                                                                              \
        .short_name = (short_), .long_name = (long_), .value_name = (value_), .help = (help_),     \
        .kind = HS_OPT_KIND_CHOICE, .ret.choice = (ret_choice), .choices = (choices_),             \
        .choice_count = sizeof(choices_) / sizeof((choices_)[0])                                   \
    }

#define HS_OPERANDS_ANY SIZE_MAX

struct hs_opts_spec {
    const char *program;        /* NULL: heapscope */
    const char *command;        /* "run"; NULL for the program itself */
    const char *summary;        /* one line, lower case, no full stop */
    const char *operands_usage; /* "FILE", "-- PROGRAM [ARGS]"; "" for none */
    const char *footer;         /* shown under the options: examples, a reference; NULL: none */
    const struct hs_opt *options;
    size_t option_count;
    size_t operands_min, operands_max;
    const char *operand_missing; /* error when there are fewer than operands_min: "no program to
                                  * run was given" */
    bool is_ended_by_operand;    /* the first operand ends the options: the rest belongs to
                                  * another program */
    bool is_abbreviated; /* an unambiguous beginning of a long name is accepted, as in Python's
                          * argparse */
};

struct hs_opts_result {
    bool is_help_wanted; /* --help was given; then nothing else was checked */
    char **operands;     /* inside argv, in their order, followed by NULL */
    size_t operand_count;
    char error[512]; /* set when parsing failed: one line, no prefix */
};

/*
 * Parses argv[1] .. argv[argc - 1]. argv[0] is the command's name, and argv[argc] is NULL.
 * Overwrites argv: read the operands from the result. Returns 0 or -errno.
 */
int hs_opts_parse(const struct hs_opts_spec *spec, int argc, char **argv,
                  struct hs_opts_result *ret_result);

/* Returns the index of the first operand before "--", or 0 if there is none. Checks nothing. */
int hs_opts_find_operand(const struct hs_opts_spec *spec, int argc, char *const *argv);

/* Writes usage, options and footer, wrapped at `columns`. */
void hs_opts_write_help(const struct hs_opts_spec *spec, FILE *out, unsigned columns);
