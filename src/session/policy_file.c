/*
 * Reads the policy's file, and the files of /proc: see policy_file.h.
 */
#include "session/policy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/inspect/eligibility.h"
#include "fmt/ctl_layout.h"
#include "rt/base.h"
#include "util/buf.h"

#define FOLDER_BYTES 512U

/* --- the policy ------------------------------------------------------------------------------- */

/* Why the file cannot be trusted; NULL: it can. */
static const char *why_untrusted(int fd, uid_t owner)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return strerror(errno); /* NOLINT(concurrency-mt-unsafe): one thread */
    }
    if (!S_ISREG(st.st_mode)) {
        return "it is not a regular file";
    }
    if (st.st_uid != 0 && st.st_uid != owner) {
        return owner == 0 ? "its owner is not root; chown root" : "it belongs to another user";
    }
    return st.st_mode & (S_IWGRP | S_IWOTH)
               ? "users other than its owner may write to it; chmod go-w"
               : NULL;
}

static int read_all(int fd, struct hs_buf *out)
{
    char part[16384];
    ssize_t got = 1;
    while (got > 0 && out->bytes <= HS_POLICY_BYTES_MAX) {
        got = read(fd, part, sizeof(part));
        if (got < 0 && errno == EINTR) {
            got = 1;
        } else if (got > 0) {
            hs_buf_add(out, part, (size_t)got);
        }
    }
    return got < 0 ? -errno : out->err;
}

static int parse_file(int fd, const char *path, struct hs_policy **ret_policy, char *ret_words)
{
    struct hs_buf text = HS_BUF_INIT;
    struct hs_policy_error error;
    int r = read_all(fd, &text);
    if (r < 0) {
        snprintf(ret_words, HS_POLICY_WORDS_BYTES, "%s: %s", path, strerror(-r));
    } else {
        r = hs_policy_parse(path, text.data, text.bytes, NULL, ret_policy, &error);
        if (r < 0 && error.line > 0) {
            snprintf(ret_words, HS_POLICY_WORDS_BYTES, "%s:%u: %s", path, error.line, error.text);
        } else if (r < 0) {
            snprintf(ret_words, HS_POLICY_WORDS_BYTES, "%s: %s", path, error.text);
        }
    }
    hs_buf_deinit(&text);
    return r;
}

int hs_policy_load(const char *path, uid_t owner, struct hs_policy **ret_policy,
                   char ret_words[HS_POLICY_WORDS_BYTES])
{
    /* O_NONBLOCK: opening a pipe must not wait for its other end. fstat() then shows what the file
     * is. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        int r = -errno;
        snprintf(ret_words, HS_POLICY_WORDS_BYTES, "%s: %s", path, strerror(-r));
        return r;
    }
    const char *why = why_untrusted(fd, owner);
    int r = -EPERM;
    if (why) {
        snprintf(ret_words, HS_POLICY_WORDS_BYTES, "%s: %s", path, why);
    } else {
        r = parse_file(fd, path, ret_policy, ret_words);
    }
    close(fd);
    return r;
}

/* --- a process -------------------------------------------------------------------------------- */

bool hs_policy_read_consent(const char *proc, pid_t pid, bool *ret_is_willing,
                            bool *ret_is_unwilling)
{
    char folder[FOLDER_BYTES], value[16];
    struct hs_buf text = HS_BUF_INIT;
    snprintf(folder, sizeof(folder), "%s/%d", proc, (int)pid);
    int r = hs_proc_read_whole(folder, "environ", &text);
    *ret_is_willing = *ret_is_unwilling = false;
    if (r == 0 &&
        hs_proc_find_env(text.data, text.bytes, HS_ENV_PROFILEABLE, value, sizeof(value))) {
        enum hs_answer consent = hs_eligibility_parse_consent(value);
        *ret_is_willing = consent == HS_ANSWER_YES;
        *ret_is_unwilling = consent == HS_ANSWER_NO;
    }
    hs_buf_deinit(&text);
    return r == 0;
}

static void read_exe(const char *folder, struct hs_policy_process *process)
{
    char path[FOLDER_BYTES + 8];
    snprintf(path, sizeof(path), "%s/exe", folder);
    ssize_t bytes = readlink(path, process->exe, sizeof(process->exe) - 1);
    if (bytes > 0 && (size_t)bytes < sizeof(process->exe) - 1) {
        process->exe[bytes] = '\0';
        process->facts.exe = process->exe;
    }
}

static void read_cgroups(const char *folder, struct hs_policy_process *process)
{
    struct hs_buf text = HS_BUF_INIT;
    if (hs_proc_read_whole(folder, "cgroup", &text) == 0 && text.bytes > 0 &&
        text.bytes < sizeof(process->cgroups)) {
        memcpy(process->cgroups, text.data, text.bytes);
        process->cgroups[text.bytes] = '\0';
        process->facts.cgroups = process->cgroups;
    }
    hs_buf_deinit(&text);
}

void hs_policy_process_read(const char *proc, pid_t pid, bool is_deep,
                            struct hs_policy_process *ret_process)
{
    struct hs_policy_process *out = ret_process;
    char folder[FOLDER_BYTES];
    struct hs_buf text = HS_BUF_INIT;
    memset(out, 0, sizeof(*out));
    snprintf(folder, sizeof(folder), "%s/%d", proc, (int)pid);
    if (pid > 0 && hs_proc_read_whole(folder, "status", &text) == 0 &&
        hs_proc_parse_status(text.data, text.bytes, &out->status) == 0) {
        out->is_status_known = out->facts.is_uid_known = true;
        out->facts.uid = out->status.uid.effective;
    }
    hs_buf_deinit(&text);
    if (is_deep && out->is_status_known) {
        read_exe(folder, out);
        read_cgroups(folder, out);
        out->facts.is_consent_known =
            hs_policy_read_consent(proc, pid, &out->facts.is_willing, &out->is_unwilling);
    }
}
