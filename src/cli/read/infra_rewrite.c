/*
 * See infra_rewrite.h.
 */
#include "cli/read/infra_rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/read/infra_pcs.h"
#include "util/buf.h"
#include "util/json.h"
#include "util/outfile.h"
#include "view/gzip.h"

/* --- the text --- */

static void put_text(const struct hs_infra_rewrite *rewrite, struct hs_buf *out)
{
    const struct hs_infra_pcs *pcs = rewrite->pcs;
    size_t at = 0, bytes = (size_t)(pcs->end - pcs->text);
    for (size_t i = 0; i < pcs->count && out->err == 0; i++) {
        if (rewrite->names[i]) {
            struct hs_json json;
            hs_buf_add(out, pcs->text + at, pcs->pcs[i].text_off - at);
            hs_json_init(&json, out, 0);
            hs_json_string(&json, rewrite->names[i]);
            at = pcs->pcs[i].text_off + pcs->pcs[i].text_bytes;
        }
    }
    hs_buf_add(out, pcs->text + at, bytes - at);
}

static int put_compressed(const struct hs_infra_rewrite *rewrite, struct hs_buf *out)
{
    struct hs_buf plain;
    struct hs_gzip *gzip = hs_gzip_new(out);
    if (!gzip) {
        return -ENOMEM;
    }
    hs_buf_init(&plain, hs_gzip_sink, gzip);
    put_text(rewrite, &plain);
    int err = hs_buf_finish(&plain);
    err = err ? err : hs_gzip_finish(gzip);
    hs_buf_deinit(&plain);
    hs_gzip_free(gzip);
    return err;
}

static int put_file(const struct hs_infra_rewrite *rewrite, struct hs_outfile *file)
{
    struct hs_buf out;
    int err = 0;
    hs_buf_init(&out, hs_outfile_write, file);
    if (rewrite->is_compressed) {
        err = put_compressed(rewrite, &out);
    } else {
        put_text(rewrite, &out);
    }
    int late_err = hs_buf_finish(&out);
    hs_buf_deinit(&out);
    return err ? err : late_err;
}

/* --- names of files --- */

/* Is there a backup of another file? One of the same file is left from a command that was killed.
 */
static int check_backup(const char *path, const char *backup)
{
    struct stat of_file, of_backup;
    if (lstat(backup, &of_backup) != 0) {
        return errno == ENOENT ? 0 : -errno;
    }
    if (stat(path, &of_file) != 0) {
        return -errno;
    }
    bool is_same = of_file.st_dev == of_backup.st_dev && of_file.st_ino == of_backup.st_ino;
    return is_same ? 0 : HS_INFRA_REWRITE_E_BACKUP;
}

static int make_backup(const char *path, const char *backup)
{
    int err = check_backup(path, backup);
    if (err == 0 && link(path, backup) != 0 && errno != EEXIST) {
        err = errno == EPERM || errno == ENOTSUP || errno == EMLINK ? HS_INFRA_REWRITE_E_LINK
                                                                    : -errno;
    }
    return err;
}

static char *backup_of(const char *path)
{
    char *backup = NULL;
    return asprintf(&backup, "%s" HS_INFRA_REWRITE_BACKUP, path) < 0 ? NULL : backup;
}

int hs_infra_rewrite_check(const char *path)
{
    char *real = realpath(path, NULL);
    char *backup = real ? backup_of(real) : NULL;
    int err = -ENOENT;
    if (real && backup) {
        err = check_backup(real, backup);
    }
    free(backup);
    free(real);
    return err;
}

/* Gives the new file the mode and, if that is permitted, the owner of the old one. */
static int keep_mode(const char *path, int fd)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return -errno;
    }
    if (st.st_uid != geteuid() || st.st_gid != getegid()) {
        int ignored = fchown(fd, st.st_uid, st.st_gid);
        (void)ignored;
    }
    return fchmod(fd, st.st_mode & 07777) != 0 ? -errno : 0;
}

/* Rewrites the file at `real`, which is no symbolic link. */
static int rewrite_at(const struct hs_infra_rewrite *rewrite, const char *real, const char *backup)
{
    struct hs_outfile file = { .fd = -1 };
    int err = hs_outfile_open(&file, real);
    err = err ? err : put_file(rewrite, &file);
    err = err ? err : keep_mode(real, file.fd);
    bool has_backup = err == 0 && rewrite->has_backup;
    if (has_backup) {
        err = make_backup(real, backup);
    }
    if (err == 0) {
        err = hs_outfile_commit(&file);
        if (err != 0 && has_backup) {
            unlink(backup);
        }
    }
    hs_outfile_abort(&file);
    return err;
}

int hs_infra_rewrite(const struct hs_infra_rewrite *rewrite)
{
    char *real = realpath(rewrite->path, NULL);
    char *backup = real ? backup_of(real) : NULL;
    int err = real && backup ? rewrite_at(rewrite, real, backup) : -ENOENT;
    free(backup);
    free(real);
    return err;
}
