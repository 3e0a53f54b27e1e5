/*
 * Checks a program before it is run: see preflight.h.
 */
#include "collect/inspect/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "collect/inspect/exe_file.h"
#include "rt/text.h"

/* the kernel's limit: a script's interpreter may be a script itself */
#define HS_SCRIPT_DEPTH_MAX 5
#define HS_PATH_DEFAULT     "/bin:/usr/bin"

/* Could the file be executed? 0 or -errno. */
static int check_executable(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return -errno;
    }
    if (!S_ISREG(st.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0) {
        return -EACCES;
    }
    return 0;
}

/* Searches PATH as execvp(3) does: a file that may not be run is remembered, but the search goes
 * on. */
static int find_program(const char *program, char *ret_path, size_t path_bytes)
{
    if (strchr(program, '/') || !*program) {
        snprintf(ret_path, path_bytes, "%s", program);
        return *program ? check_executable(program) : -ENOENT;
    }
    const char *list = getenv("PATH");
    char refused[PATH_MAX] = "";
    for (const char *at = list ? list : HS_PATH_DEFAULT, *next; at; at = next) {
        int n = (int)strcspn(at, ":");
        next = at[n] ? at + n + 1 : NULL;
        int len = n == 0 ? snprintf(ret_path, path_bytes, "%s", program)
                         : snprintf(ret_path, path_bytes, "%.*s/%s", n, at, program);
        if (len < 0 || (size_t)len >= path_bytes) {
            continue;
        }
        int r = check_executable(ret_path);
        if (r == 0) {
            return 0;
        }
        if (r == -EACCES && !refused[0]) {
            snprintf(refused, sizeof(refused), "%s", ret_path);
        }
    }
    snprintf(ret_path, path_bytes, "%s", refused[0] ? refused : program);
    return refused[0] ? -EACCES : -ENOENT;
}

/* How the program would gain rights when it is run, or NULL. If it does, the loader runs in secure
 * mode. */
static const char *find_rights(int fd)
{
    struct stat st;
    struct statvfs fs;
    char value[64];
    if (fstat(fd, &st) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
        (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOSUID))) {
        return NULL;
    }
    if ((st.st_mode & S_ISUID) && st.st_uid != getuid()) {
        return "set-user-id";
    }
    /* Without the group's x bit, the set-group-id bit means mandatory locking. */
    if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid()) {
        return "set-group-id";
    }
    if (getuid() != 0 && fgetxattr(fd, "security.capability", value, sizeof(value)) > 0) {
        return "marked with capabilities";
    }
    return NULL;
}

static enum hs_preflight_verdict judge_elf(int fd, const struct hs_exe_file *file,
                                           struct hs_preflight *preflight)
{
    if (!file->is_64bit) {
        return HS_PREFLIGHT_32BIT;
    }
    if (!file->is_native) {
        return HS_PREFLIGHT_OTHER_MACHINE;
    }
    if (!file->interpreter[0] && !file->is_loader) {
        return HS_PREFLIGHT_STATIC;
    }
    if (strstr(file->interpreter, "/ld-musl")) {
        return HS_PREFLIGHT_MUSL;
    }
    preflight->rights = find_rights(fd);
    if (preflight->rights) {
        return HS_PREFLIGHT_SECURE;
    }
    preflight->sanitizer = file->sanitizer;
    if (preflight->sanitizer) {
        return HS_PREFLIGHT_SANITIZER;
    }
    preflight->defines_malloc = file->defines_malloc;
    return HS_PREFLIGHT_GO;
}

/* Follows a script's `env` to the program: "#!/usr/bin/env python3" runs what env finds in PATH;
 * variables may stand before the name. With other options than -S, the verdict is about env itself.
 * If env would not find the program, env's own message is better than one of heapscope's. */
static void follow_env(const char *argument, struct hs_preflight *preflight)
{
    char name[HS_EXE_ARGUMENT_BYTES], path[PATH_MAX];
    const char *at = argument;
    size_t bytes = 0;
    if (hs_text_starts_with(at, "-S")) {
        at += 2; /* after -S, possibly without a blank, follow several arguments */
    }
    do {
        at += bytes;
        at += strspn(at, " \t");
        bytes = strcspn(at, " \t");
    } while (memchr(at, '=', bytes));
    snprintf(name, sizeof(name), "%.*s", (int)bytes, at);
    if (bytes > 0 && at[0] != '-' && find_program(name, path, sizeof(path)) == 0) {
        memcpy(preflight->elf, path, sizeof(path));
    }
}

/* Follows scripts to the program that would run in the end, and judges that. */
static enum hs_preflight_verdict judge(struct hs_preflight *preflight)
{
    for (unsigned depth = 0; depth < HS_SCRIPT_DEPTH_MAX; depth++) {
        struct hs_exe_file file;
        int fd = open(preflight->elf, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            return HS_PREFLIGHT_GO; /* it may be run, but not read: nothing speaks against it */
        }
        int r = hs_exe_file_inspect(fd, &file);
        enum hs_preflight_verdict verdict = HS_PREFLIGHT_GO;
        if (r == 0 && file.kind == HS_EXE_ELF) {
            verdict = judge_elf(fd, &file, preflight);
        }
        close(fd);
        if (r < 0 || file.kind == HS_EXE_ELF) {
            return verdict;
        }
        /* execvp(3) and every shell run a file with sh if the kernel does not know its format. */
        preflight->is_script = true;
        snprintf(preflight->elf, sizeof(preflight->elf), "%s",
                 file.kind == HS_EXE_SCRIPT ? file.interpreter : "/bin/sh");
        if (check_executable(preflight->elf) != 0) {
            return HS_PREFLIGHT_NO_INTERPRETER;
        }
        if (strcmp(hs_text_base_name(preflight->elf), "env") == 0) {
            follow_env(file.argument, preflight);
        }
    }
    return HS_PREFLIGHT_NO_INTERPRETER;
}

void hs_preflight_check(const char *program, struct hs_preflight *ret_preflight)
{
    struct hs_preflight preflight = { .verdict = HS_PREFLIGHT_GO };
    int r = find_program(program, preflight.path, sizeof(preflight.path));
    snprintf(preflight.elf, sizeof(preflight.elf), "%s", preflight.path);
    if (r == -EACCES) {
        preflight.verdict = HS_PREFLIGHT_NOT_EXECUTABLE;
    } else if (r < 0) {
        preflight.verdict =
            r == -ENOENT || r == -ENOTDIR ? HS_PREFLIGHT_MISSING : HS_PREFLIGHT_NOT_EXECUTABLE;
    } else {
        preflight.verdict = judge(&preflight);
    }
    *ret_preflight = preflight;
}
