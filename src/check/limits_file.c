/*
 * Reads files of limits: lines with a name and a value. See limits.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check/limits.h"
#include "profile/read/text_lines.h"
#include "util/buf.h"

/*
 * The length of a line without its comment, which begins at a # that is the first character or
 * follows a blank.
 */
static size_t without_remark(const char *line, size_t bytes)
{
    size_t end = bytes;
    for (size_t i = 0; i < bytes; i++) {
        if (line[i] == '#' && (i == 0 || hs_lines_is_blank(line[i - 1]))) {
            end = i;
            break;
        }
    }
    while (end > 0 && hs_lines_is_blank(line[end - 1])) {
        end--;
    }
    return end;
}

/* Writes a value that is a path, relative to the folder of the file that contains it. */
static void put_path(struct hs_buf *out, const char *file_path, const char *path, size_t bytes)
{
    const char *slash = strrchr(file_path, '/');
    if (slash && bytes > 0 && path[0] != '/') {
        hs_buf_add(out, file_path, (size_t)(slash - file_path) + 1);
    }
    hs_buf_add(out, path, bytes);
}

static int set_pair(struct hs_limits *limits, const char *path, const char *line, size_t bytes,
                    struct hs_text_error *error)
{
    struct hs_buf name = HS_BUF_INIT, value = HS_BUF_INIT;
    size_t name_bytes = 0;
    while (name_bytes < bytes && !hs_lines_is_blank(line[name_bytes])) {
        name_bytes++;
    }
    size_t value_at = name_bytes;
    while (value_at < bytes && hs_lines_is_blank(line[value_at])) {
        value_at++;
    }
    hs_buf_add(&name, line, name_bytes);
    const char *name_text = hs_buf_text(&name);
    if (strcmp(name_text, "against") == 0 || strcmp(name_text, "suppressions") == 0) {
        put_path(&value, path, line + value_at, bytes - value_at);
    } else {
        hs_buf_add(&value, line + value_at, bytes - value_at);
    }
    const char *value_text = hs_buf_text(&value);
    int err = name.err ? name.err : value.err;
    if (err == 0 && strncmp(name_text, "--", 2) == 0) {
        err = hs_text_error_set(error, 0, "'%s': write the name without dashes", name_text);
    } else if (err == 0) {
        err = hs_limits_set(limits, name_text, value_text, error);
    }
    hs_buf_deinit(&name);
    hs_buf_deinit(&value);
    return err;
}

int hs_limits_parse(struct hs_limits *limits, const char *path, const char *text, size_t text_bytes,
                    struct hs_text_error *ret_error)
{
    struct hs_lines lines = { .at = text, .end = text + text_bytes };
    int err = 0;
    for (unsigned line_no = 1; err == 0 && hs_lines_next(&lines); line_no++) {
        size_t bytes = without_remark(lines.line, lines.bytes);
        if (memchr(lines.line, '\0', lines.bytes)) {
            return hs_text_error_set(ret_error, line_no, "a NUL byte: this is not a text file");
        }
        if (bytes > 0) {
            err = set_pair(limits, path, lines.line, bytes, ret_error);
            ret_error->line = line_no;
        }
    }
    return err;
}
