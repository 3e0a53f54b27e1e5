/*
 * Reading a command's options: see args.h.
 */
#include "cli/args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "util/parse.h"

#define HS_ARGS_COLUMNS_DEFAULT 80
#define HS_ARGS_COLUMNS_MIN     40

static int say_usage_error(const struct hs_opts_spec *spec, const char *error)
{
    hs_message("%s\nTry 'heapscope %s%s--help'.", error, spec->command ? spec->command : "",
               spec->command ? " " : "");
    return HS_EXIT_STATUS_USAGE;
}

int hs_args_parse(const struct hs_opts_spec *spec, int argc, char **argv,
                  struct hs_opts_result *ret_result)
{
    int r = hs_opts_parse(spec, argc, argv, ret_result);
    if (r < 0) {
        return say_usage_error(spec, ret_result->error);
    }
    if (ret_result->is_help_wanted) {
        hs_opts_write_help(spec, stdout, hs_args_columns(STDOUT_FILENO));
        return hs_args_finish_output();
    }
    return HS_ARGS_GO_ON;
}

int hs_args_fail(const struct hs_opts_spec *spec, const char *format, ...)
{
    char error[512];
    va_list args;
    va_start(args, format);
    vsnprintf(error, sizeof(error), format, args);
    va_end(args);
    return say_usage_error(spec, error);
}

int hs_args_finish_output(void)
{
    errno = 0;
    bool is_whole = fflush(stdout) == 0 && !ferror(stdout);
    if (!is_whole && errno == 0) {
        /* An earlier write has failed, and its reason is gone: the next one has the same. */
        clearerr(stdout);
        fputc('\n', stdout);
        fflush(stdout);
    }
    if (!is_whole && errno != EPIPE) {
        hs_message("standard output: %s", strerror(errno ? errno : EIO));
    }
    return is_whole ? HS_EXIT_STATUS_DONE : HS_EXIT_STATUS_FAILED;
}

unsigned hs_args_columns(int fd)
{
    struct winsize size;
    const char *env = getenv("COLUMNS");
    uint64_t columns = 0;
    if (env && hs_parse_number(env, &columns) == 0 && columns > 0 && columns < 10000) {
        return columns < HS_ARGS_COLUMNS_MIN ? HS_ARGS_COLUMNS_MIN : (unsigned)columns;
    }
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col < HS_ARGS_COLUMNS_MIN ? HS_ARGS_COLUMNS_MIN : size.ws_col;
    }
    return HS_ARGS_COLUMNS_DEFAULT;
}

bool hs_args_has_colour(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(fd) == 1 && !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0;
}
