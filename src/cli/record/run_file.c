/*
 * Writing the file of `run`: see run_file.h.
 */
#include "cli/record/run_file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/write_all.h"

#define HS_COPY_BYTES 65536

int hs_run_file_open(struct hs_run_file *file, const char *path)
{
    *file = (struct hs_run_file){ .spool_fd = -1 };
    int r = hs_outfile_open_named(&file->out, path);
    if (r == 0 && file->out.is_direct) {
        file->spool_fd = memfd_create("heapscope-trace", MFD_CLOEXEC);
        if (file->spool_fd < 0) {
            r = -errno;
            hs_outfile_abort(&file->out);
        }
    }
    return r;
}

int hs_run_file_write(void *ctx, const void *data, size_t bytes)
{
    struct hs_run_file *file = ctx;
    int r = file->spool_fd >= 0 ? hs_write_all(file->spool_fd, data, bytes)
                                : hs_outfile_write(&file->out, data, bytes);
    if (r == 0) {
        file->bytes += bytes;
    }
    return r;
}

void hs_run_file_path(const struct hs_run_file *file, char *ret_path, size_t path_bytes)
{
    if (file->spool_fd >= 0) {
        snprintf(ret_path, path_bytes, "/proc/self/fd/%d", file->spool_fd);
    } else {
        snprintf(ret_path, path_bytes, "%s", file->out.temp_path);
    }
}

static int copy_spool(struct hs_run_file *file)
{
    char block[HS_COPY_BYTES];
    uint64_t off = 0;
    for (;;) {
        ssize_t got = pread(file->spool_fd, block, sizeof(block), (off_t)off);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? -errno : 0;
        }
        int r = hs_outfile_write(&file->out, block, (size_t)got);
        if (r < 0) {
            return r;
        }
        off += (uint64_t)got;
    }
}

int hs_run_file_finish(struct hs_run_file *file)
{
    int r = file->spool_fd >= 0 ? copy_spool(file) : 0;
    if (r == 0) {
        r = hs_outfile_commit(&file->out);
    }
    hs_run_file_abort(file);
    return r;
}

void hs_run_file_abort(struct hs_run_file *file)
{
    hs_outfile_abort(&file->out);
    if (file->spool_fd >= 0) {
        close(file->spool_fd);
        file->spool_fd = -1;
    }
}
