/*
 * See check_files.h.
 */
#include "cli/read/check_files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "util/buf.h"

static int read_text(const char *path, struct hs_buf *text)
{
    char part[16384];
    size_t got;
    errno = 0;
    FILE *file = fopen(path, "re");
    if (!file) {
        return -errno;
    }
    while (text->bytes <= HS_CHECK_TEXT_BYTES_MAX &&
           (got = fread(part, 1, sizeof(part), file)) > 0) {
        hs_buf_add(text, part, got);
    }
    int err = ferror(file) ? (errno ? -errno : -EIO) : text->err;
    fclose(file);
    return err ? err : text->bytes > HS_CHECK_TEXT_BYTES_MAX ? -EFBIG : 0;
}

static int say(const char *path, int err, const struct hs_text_error *error)
{
    if (err == -EINVAL && error->line > 0) {
        hs_message("%s:%u: %s", path, error->line, error->text);
        return HS_EXIT_STATUS_USAGE;
    }
    hs_message("%s: %s", path, strerror(-err));
    return HS_EXIT_STATUS_NO_FILE;
}

int hs_check_files_limits(const char *path, struct hs_limits *limits)
{
    struct hs_buf text = HS_BUF_INIT;
    struct hs_text_error error = { 0 };
    int err = read_text(path, &text);
    err = err ? err : hs_limits_parse(limits, path, hs_buf_text(&text), text.bytes, &error);
    hs_buf_deinit(&text);
    return err ? say(path, err, &error) : 0;
}

int hs_check_files_suppressions(const char *path, struct hs_suppressions *suppressions)
{
    struct hs_buf text = HS_BUF_INIT;
    struct hs_text_error error = { 0 };
    int err = read_text(path, &text);
    err = err ? err
              : hs_suppressions_parse(suppressions, path, hs_buf_text(&text), text.bytes, &error);
    hs_buf_deinit(&text);
    return err ? say(path, err, &error) : 0;
}
