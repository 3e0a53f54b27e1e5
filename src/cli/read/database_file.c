/*
 * See database_file.h.
 */
#include "cli/read/database_file.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rt/base.h"
#include "sql/database.h"
#include "util/buf.h"
#include "util/outfile.h"

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* The temporary file, which a signal removes. The complete file has another name. */
static char unfinished[PATH_MAX];

static void on_end(int number)
{
    unlink(unfinished);
    signal(number, SIG_DFL);
    raise(number);
}

/* Sets the file that ending signals remove; NULL: restores the signals. Ignored signals stay
 * ignored. */
static void guard(const char *path)
{
    if (path) {
        snprintf(unfinished, sizeof(unfinished), "%s", path);
    }
    for (size_t i = 0; i < HS_COUNT_OF(ends); i++) {
        if (signal(ends[i], path ? on_end : SIG_DFL) == SIG_IGN) {
            signal(ends[i], SIG_IGN);
        }
    }
}

/* Opens the file with signals blocked: a signal comes before there is a file, or when its name is
 * known. */
static int open_guarded(struct hs_outfile *out, const char *path)
{
    sigset_t set, before;
    sigemptyset(&set);
    for (size_t i = 0; i < HS_COUNT_OF(ends); i++) {
        sigaddset(&set, ends[i]);
    }
    sigprocmask(SIG_BLOCK, &set, &before);
    int err = hs_outfile_open_named(out, path);
    if (err == 0 && out->temp_path) {
        guard(out->temp_path);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return err;
}

static int write_directly(sqlite3 *db, struct hs_outfile *out, uint64_t *ret_bytes)
{
    struct hs_buf buf;
    hs_buf_init(&buf, hs_outfile_write, out);
    int err = hs_sql_write(db, &buf);
    int late_err = hs_buf_finish(&buf);
    *ret_bytes = buf.total_bytes;
    hs_buf_deinit(&buf);
    return err ? err : late_err;
}

static int write_file(sqlite3 *db, const struct hs_outfile *out, uint64_t *ret_bytes)
{
    struct stat st;
    int err = hs_sql_write_file(db, out->temp_path);
    *ret_bytes = fstat(out->fd, &st) == 0 ? (uint64_t)st.st_size : 0;
    return err;
}

int hs_database_file_write(sqlite3 *db, const char *path, uint64_t *ret_bytes)
{
    struct hs_outfile out;
    *ret_bytes = 0;
    int err = open_guarded(&out, path);
    if (err < 0) {
        return err;
    }
    err = out.is_direct ? write_directly(db, &out, ret_bytes) : write_file(db, &out, ret_bytes);
    err = err ? err : hs_outfile_commit(&out);
    guard(NULL);
    hs_outfile_abort(&out);
    return err;
}
