/*
 * See query_text.h.
 */
#include "cli/query_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/message.h"

#define SQL_BYTES_MAX (64U << 20)

/* Rows of a statement that fails later were right: they are shown before it is said. */
int hs_query_run(struct hs_sql *sql, struct hs_query_output *output, const char *text, size_t bytes,
                 const char *origin)
{
    struct hs_sql_writer writer;
    hs_sql_writer_init(&writer, &output->buf, output->format);
    struct hs_sql_rows rows = hs_sql_writer_rows(&writer);
    int err = hs_sql_run(sql, text, bytes, origin, &rows);
    hs_sql_writer_deinit(&writer);
    int late_err = hs_buf_finish(&output->buf);
    if (err == HS_SQL_E_STATEMENT) {
        hs_message("%s", hs_sql_error(sql));
    } else if (err < 0 && err != -EPIPE) {
        hs_message("%s", strerror(-err));
    } else if (late_err < 0 && late_err != -EPIPE) {
        hs_message("cannot write standard output: %s", strerror(-late_err));
    }
    return err ? err : late_err;
}

int hs_query_read_file(const char *path, struct hs_buf *ret_text)
{
    char part[65536];
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 ? -errno : 0;
    hs_buf_init(ret_text, NULL, NULL);
    while (err == 0) {
        ssize_t got = read(fd, part, sizeof(part));
        if (got == 0) {
            break;
        }
        if (got > 0) {
            hs_buf_add(ret_text, part, (size_t)got);
            err = ret_text->bytes > SQL_BYTES_MAX ? -EFBIG : ret_text->err;
        } else if (errno != EINTR) {
            err = -errno;
        }
    }
    if (fd >= 0 && !is_stdin) {
        close(fd);
    }
    if (err < 0) {
        hs_buf_deinit(ret_text);
        hs_message("cannot read SQL from %s: %s", is_stdin ? "standard input" : path,
                   strerror(-err));
    }
    return err;
}
