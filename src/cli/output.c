/*
 * See output.h.
 */
#include "cli/output.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "util/buf.h"
#include "util/outfile.h"

int hs_output_write(const char *path, int (*fill)(void *ctx, struct hs_buf *buf), void *ctx,
                    uint64_t *ret_bytes)
{
    struct hs_outfile file;
    struct hs_buf buf;
    int err = hs_outfile_open(&file, path);
    if (err < 0) {
        return err;
    }
    hs_buf_init(&buf, hs_outfile_write, &file);
    err = fill(ctx, &buf);
    int late_err = hs_buf_finish(&buf);
    err = err ? err : late_err;
    if (ret_bytes) {
        *ret_bytes = buf.total_bytes;
    }
    hs_buf_deinit(&buf);
    err = err ? err : hs_outfile_commit(&file);
    hs_outfile_abort(&file);
    return err;
}

int hs_output_end(const char *path, int err)
{
    bool is_stdout = strcmp(path, "-") == 0;
    if (err < 0 && !(is_stdout && err == -EPIPE)) {
        hs_message("cannot write %s: %s", is_stdout ? "standard output" : path, strerror(-err));
    }
    return err == 0 ? HS_EXIT_STATUS_DONE : HS_EXIT_STATUS_FAILED;
}
