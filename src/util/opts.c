/*
 * Command lines as a table, the parsing half: see opts.h. opts_help.c is the printing half.
 *
 * The parser goes through argv once. It moves operands that stand between options to the front of
 * argv, over arguments that it has already read. The caller then sees all operands side by side, in
 * their order, and nothing is copied.
 *
 * Fails     at the first mistake, with a line that names the option as it was typed.
 */
#include "util/opts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/parse.h"
#include "util/suggest.h"

#define HS_OPTS_SUGGEST_MAX 64

struct parser {
    const struct hs_opts_spec *spec;
    int argc;
    char **argv;
    int next; /* the first argument that has not been read yet */
    struct hs_opts_result *result;
};

void hs_opt_list_deinit(struct hs_opt_list *list)
{
    free(list->items);
    *list = (struct hs_opt_list){ 0 };
}

static int __attribute__((format(printf, 2, 3))) fail(struct parser *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(p->result->error, sizeof(p->result->error), format, args);
    va_end(args);
    return -EINVAL;
}

static bool is_flag(const struct hs_opt *opt)
{
    return opt->kind == HS_OPT_KIND_FLAG || opt->kind == HS_OPT_KIND_FLAG_OFF;
}

static const struct hs_opt *find_long(const struct hs_opts_spec *spec, const char *name,
                                      size_t name_bytes)
{
    for (size_t i = 0; i < spec->option_count; i++) {
        const char *known = spec->options[i].long_name;
        if (known && strlen(known) == name_bytes && memcmp(known, name, name_bytes) == 0) {
            return &spec->options[i];
        }
    }
    return NULL;
}

/* Returns the only option that begins with `name`, where abbreviations are accepted. */
static const struct hs_opt *find_abbreviated(const struct hs_opts_spec *spec, const char *name,
                                             size_t name_bytes)
{
    const struct hs_opt *found = NULL;
    for (size_t i = 0; spec->is_abbreviated && i < spec->option_count; i++) {
        const char *known = spec->options[i].long_name;
        if (known && name_bytes > 0 && strncmp(known, name, name_bytes) == 0) {
            if (found) {
                return NULL;
            }
            found = &spec->options[i];
        }
    }
    return found;
}

static const struct hs_opt *find_short(const struct hs_opts_spec *spec, char name)
{
    for (size_t i = 0; i < spec->option_count; i++) {
        if (spec->options[i].short_name == name) {
            return &spec->options[i];
        }
    }
    return NULL;
}

static int set_choice(struct parser *p, const struct hs_opt *opt, const char *typed,
                      const char *value)
{
    char all[256] = "";
    for (size_t i = 0; i < opt->choice_count; i++) {
        if (strcmp(value, opt->choices[i]) == 0) {
            *opt->ret.choice = (unsigned)i;
            return 0;
        }
        size_t used = strlen(all);
        snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "", opt->choices[i]);
    }
    return fail(p, "%s: '%s' is not one of: %s", typed, value, all);
}

static int append_to_list(struct hs_opt_list *list, const char *value)
{
    int err =
        hs_array_reserve(&list->items, &list->capacity, list->count + 1, sizeof(list->items[0]));
    if (err < 0) {
        return err;
    }
    list->items[list->count++] = value;
    return 0;
}

static const char *example_of(enum hs_opt_kind kind)
{
    switch (kind) {
    case HS_OPT_KIND_SIZE:
        return "a size like 4096, 64K or 1.5M";
    case HS_OPT_KIND_DURATION:
        return "a duration like 500ms, 10s, 5m or 1h";
    default:
        return "a whole number";
    }
}

/* Writes a limit in the unit in which a user would type it. */
static void format_bound(enum hs_opt_kind kind, uint64_t value, char *ret_text, size_t text_bytes)
{
    if (kind == HS_OPT_KIND_DURATION && value % 1000000000 == 0) {
        snprintf(ret_text, text_bytes, "%" PRIu64 "s", value / 1000000000);
    } else if (kind == HS_OPT_KIND_DURATION) {
        snprintf(ret_text, text_bytes, "%gms", (double)value / 1e6);
    } else {
        snprintf(ret_text, text_bytes, "%" PRIu64, value);
    }
}

static int set_number(struct parser *p, const struct hs_opt *opt, const char *typed,
                      const char *value)
{
    uint64_t number = 0;
    char bound[32];
    int r = opt->kind == HS_OPT_KIND_SIZE       ? hs_parse_size(value, &number)
            : opt->kind == HS_OPT_KIND_DURATION ? hs_parse_duration(value, &number)
                                                : hs_parse_number(value, &number);
    if (r == -ERANGE || (r == 0 && number > opt->max)) {
        format_bound(opt->kind, opt->max, bound, sizeof(bound));
        return fail(p, "%s: '%s' is too large: at most %s", typed, value, bound);
    }
    if (r < 0) {
        return fail(p, "%s: '%s' is not %s", typed, value, example_of(opt->kind));
    }
    if (number < opt->min) {
        format_bound(opt->kind, opt->min, bound, sizeof(bound));
        return fail(p, "%s: '%s' is too small: at least %s", typed, value, bound);
    }
    *opt->ret.number = number;
    return 0;
}

static int set_value(struct parser *p, const struct hs_opt *opt, const char *typed,
                     const char *value)
{
    switch (opt->kind) {
    case HS_OPT_KIND_FLAG:
        *opt->ret.flag = true;
        return 0;
    case HS_OPT_KIND_FLAG_OFF:
        *opt->ret.flag = false;
        return 0;
    case HS_OPT_KIND_STRING:
        if (!*value) {
            return fail(p, "%s: the %s is empty", typed, opt->value_name);
        }
        *opt->ret.string = value;
        return 0;
    case HS_OPT_KIND_LIST:
        return append_to_list(opt->ret.list, value);
    case HS_OPT_KIND_SIZE:
    case HS_OPT_KIND_DURATION:
    case HS_OPT_KIND_NUMBER:
        return set_number(p, opt, typed, value);
    case HS_OPT_KIND_CHOICE:
        return set_choice(p, opt, typed, value);
    }
    return -EINVAL;
}

/* Takes the value of an option that was typed without '=': the next argument. */
static int take_next_value(struct parser *p, const struct hs_opt *opt, const char *typed)
{
    if (p->next >= p->argc) {
        return fail(p, "%s needs a value: %s %s", typed, typed, opt->value_name);
    }
    return set_value(p, opt, typed, p->argv[p->next++]);
}

static int fail_unknown_long(struct parser *p, const char *typed, size_t name_bytes)
{
    const char *names[HS_OPTS_SUGGEST_MAX];
    size_t count = 0;
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)name_bytes, typed + 2);
    for (size_t i = 0; i < p->spec->option_count && count < HS_OPTS_SUGGEST_MAX; i++) {
        if (p->spec->options[i].long_name && p->spec->options[i].help) {
            names[count++] = p->spec->options[i].long_name;
        }
    }
    const char *near = hs_suggest_nearest(name, names, count);
    return fail(p, "unknown option '--%s'%s%s%s", name, near ? "; did you mean '--" : "",
                near ? near : "", near ? "'?" : "");
}

static int parse_long(struct parser *p, const char *arg)
{
    const char *equals = strchr(arg, '=');
    size_t name_bytes = equals ? (size_t)(equals - arg) - 2 : strlen(arg) - 2;
    const struct hs_opt *opt = find_long(p->spec, arg + 2, name_bytes);
    char typed[64];
    opt = opt ? opt : find_abbreviated(p->spec, arg + 2, name_bytes);
    if (!opt && strcmp(arg, "--help") == 0) {
        p->result->is_help_wanted = true;
        return 0;
    }
    if (!opt) {
        return fail_unknown_long(p, arg, name_bytes);
    }
    snprintf(typed, sizeof(typed), "--%s", opt->long_name);
    if (is_flag(opt)) {
        return equals ? fail(p, "%s takes no value", typed) : set_value(p, opt, typed, NULL);
    }
    return equals ? set_value(p, opt, typed, equals + 1) : take_next_value(p, opt, typed);
}

/* Parses one argument of short options: several flags, the last of which may take a value. */
static int parse_short(struct parser *p, const char *arg)
{
    for (const char *c = arg + 1; *c; c++) {
        const struct hs_opt *opt = find_short(p->spec, *c);
        char typed[3] = { '-', *c, '\0' };
        if (!opt && *c == 'h') {
            p->result->is_help_wanted = true;
            return 0;
        }
        if (!opt) {
            return fail(p, "unknown option '%s'", typed);
        }
        if (!is_flag(opt)) {
            return c[1] ? set_value(p, opt, typed, c + 1) : take_next_value(p, opt, typed);
        }
        int r = set_value(p, opt, typed, NULL);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int check_operands(struct parser *p)
{
    struct hs_opts_result *result = p->result;
    if (result->operand_count < p->spec->operands_min) {
        return fail(p, "%s",
                    p->spec->operand_missing ? p->spec->operand_missing : "an argument is missing");
    }
    if (result->operand_count > p->spec->operands_max) {
        return fail(p, "one argument too many: '%s'", result->operands[p->spec->operands_max]);
    }
    return 0;
}

int hs_opts_parse(const struct hs_opts_spec *spec, int argc, char **argv,
                  struct hs_opts_result *ret_result)
{
    struct parser p = { .spec = spec, .argc = argc, .argv = argv, .next = 1, .result = ret_result };
    char **operands = argv + 1;
    size_t operand_count = 0;
    *ret_result = (struct hs_opts_result){ .operand_count = 0 };
    while (p.next < argc) {
        char *arg = argv[p.next];
        bool is_operand = arg[0] != '-' || arg[1] == '\0';
        if (is_operand && spec->is_ended_by_operand) {
            break;
        }
        p.next++;
        if (strcmp(arg, "--") == 0) {
            break;
        }
        if (is_operand) {
            /*
             * Overwrites an argument that was already read: there are never more operands than
             * arguments read.
             */
            operands[operand_count++] = arg;
            continue;
        }
        int r = arg[1] == '-' ? parse_long(&p, arg) : parse_short(&p, arg);
        if (r < 0 || ret_result->is_help_wanted) {
            return r;
        }
    }
    while (p.next < argc) {
        operands[operand_count++] = argv[p.next++];
    }
    operands[operand_count] = NULL;
    ret_result->operands = operands;
    ret_result->operand_count = operand_count;
    return check_operands(&p);
}

/* Does this argument take the next one as its value? */
static bool is_before_value(const struct hs_opts_spec *spec, const char *arg)
{
    if (arg[1] == '-') {
        size_t bytes = strcspn(arg + 2, "=");
        const struct hs_opt *opt = find_long(spec, arg + 2, bytes);
        opt = opt ? opt : find_abbreviated(spec, arg + 2, bytes);
        return arg[2 + bytes] == '\0' && opt && !is_flag(opt);
    }
    for (const char *c = arg + 1; *c; c++) {
        const struct hs_opt *opt = find_short(spec, *c);
        if (opt && !is_flag(opt)) {
            return c[1] == '\0';
        }
    }
    return false;
}

int hs_opts_find_operand(const struct hs_opts_spec *spec, int argc, char *const *argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            return i;
        }
        i += is_before_value(spec, argv[i]);
    }
    return 0;
}
