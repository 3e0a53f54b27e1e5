/*
 * Command lines as a table, the printing half: --help from the same declaration, see opts.h.
 *
 * There are two columns: options, and what they do. The left one is as wide as its longest entry,
 * up to a limit; after a longer entry the text starts on a line of its own.
 */
#include <string.h>

#include "util/opts.h"

#define HS_HELP_LEFT_MAX 30

static size_t format_left(const struct hs_opt *opt, char *ret_text, size_t text_bytes)
{
    char short_name[] = { '-', opt->short_name, ',', ' ', '\0' };
    int len = snprintf(ret_text, text_bytes, "  %s--%s%s%s", opt->short_name ? short_name : "    ",
                       opt->long_name, opt->value_name ? " " : "",
                       opt->value_name ? opt->value_name : "");
    return len > 0 ? (size_t)len : 0;
}

static void indent(FILE *out, size_t columns)
{
    fprintf(out, "%*s", (int)columns, "");
}

/* Writes one wrapped paragraph; the cursor already stands at column `left`. */
static void write_wrapped(const char *text, size_t left, size_t columns, FILE *out)
{
    static const char blanks[] = " \n";
    size_t at = left;
    for (const char *c = text + strspn(text, blanks); *c; c += strspn(c, blanks)) {
        size_t word = strcspn(c, blanks);
        if (at > left && at + 1 + word > columns) {
            fputc('\n', out);
            indent(out, left);
            at = left;
        }
        at += word + (at > left ? (size_t)fprintf(out, " ") : 0);
        fwrite(c, 1, word, out);
        c += word;
    }
    fputc('\n', out);
}

static void write_option(const struct hs_opt *opt, size_t left, size_t columns, FILE *out)
{
    char text[128];
    size_t used = format_left(opt, text, sizeof(text));
    fputs(text, out);
    if (used + 2 > left) {
        fputc('\n', out);
        used = 0;
    }
    indent(out, left - used);
    write_wrapped(opt->help, left, columns, out);
}

void hs_opts_write_help(const struct hs_opts_spec *spec, FILE *out, unsigned columns)
{
    static bool unused;
    static const struct hs_opt help = HS_OPT_FLAG('h', "help", &unused, "show this text");
    char text[128];
    size_t left = format_left(&help, text, sizeof(text)) + 2;
    for (size_t i = 0; i < spec->option_count; i++) {
        size_t width = format_left(&spec->options[i], text, sizeof(text)) + 2;
        if (spec->options[i].help && width > left && width <= HS_HELP_LEFT_MAX) {
            left = width;
        }
    }
    const char *program = spec->program ? spec->program : "heapscope";
    fprintf(out, "%s%s%s: %s\n\n", program, spec->command ? " " : "",
            spec->command ? spec->command : "", spec->summary);
    fprintf(out, "Usage: %s%s%s [OPTIONS]%s%s\n\nOptions:\n", program, spec->command ? " " : "",
            spec->command ? spec->command : "", *spec->operands_usage ? " " : "",
            spec->operands_usage);
    for (size_t i = 0; i < spec->option_count; i++) {
        if (spec->options[i].help) {
            write_option(&spec->options[i], left, columns, out);
        }
    }
    write_option(&help, left, columns, out);
    if (spec->footer) {
        fprintf(out, "\n%s\n", spec->footer);
    }
}
