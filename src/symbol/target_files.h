/*
 * Target files: the files of recorded processes that names come from, held open from the time at
 * which the process runs.
 *
 * Names are looked up when a recording ends. By then the process may be gone, and with it its mount
 * namespace; a file may have been deleted, or replaced by an upgrade; and in a container, a path
 * names another file than on the host. So while a process runs, heapscope opens
 *
 *   - the files whose code it has mapped: through /proc/PID/map_files where that is allowed,
 *     otherwise /proc/PID/exe, or the path below the process's root if the file there is the mapped
 *     one (same inode)
 *   - its root, if that is not heapscope's own: for the debug files of a container
 *   - the lists of code that it makes at run time: a perf map and a jitdump
 *
 *     hs_target_files_look(files, pid, uid, true);            while the process runs, repeatedly
 *     options.target_files = files;                           hs_symbolizer_run()
 *     hs_target_files_free(files);
 *
 * A file is used only if it has the recorded build id. For a module without a build id it is used
 * if all recorded processes have mapped the same file at that path.
 *
 * Ensures   at most HS_TARGET_FILES_MAX descriptors of modules, HS_TARGET_ROOTS_MAX of roots and
 *           twice HS_TARGET_JITS_MAX of lists; never more than half of what the process may open.
 *           Only plain files are opened, and only those that the process's user may read.
 * Threads   one user. Forked processes inherit the descriptors, which are closed by exec.
 * Fails     never: a file that cannot be opened is not there.
 * See       debug_files.h, docs/SYMBOLS.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HS_TARGET_FILES_MAX 512U
#define HS_TARGET_ROOTS_MAX 32U
#define HS_TARGET_JITS_MAX  64U

struct hs_target_files;

/* The lists of one process. */
struct hs_target_jit {
    uint32_t pid;
    uint32_t own_pid;  /* as the process sees it */
    uid_t uid;         /* its user */
    int map_fd;        /* perf map; -1: none */
    int dump_fd;       /* jitdump; -1: none */
    bool is_elsewhere; /* its /tmp is in another root, or its own_pid is another one */
    int root_idx;      /* the root with its /tmp; -1: ours, or not held */
};

/* Frees it, and closes all descriptors. Accepts NULL. */
void hs_target_files_free(struct hs_target_files *files);

/* Looks at a process: at its lists of code, and, with `is_mapping_new`, at the files that it has
 * mapped. *files is made if it is NULL. `uid` is the user of the process. */
void hs_target_files_look(struct hs_target_files **files, pid_t pid, uid_t uid,
                          bool is_mapping_new);

/* Is a root held, so that a path may name another file for a process than for us? NULL: no. */
bool hs_target_files_has_roots(const struct hs_target_files *files);

/* Candidate number *at, or the next one after it, for a module: a descriptor, which stays with
 * `files`, of a file with the module's base name; moves *at behind it. -1: there is no further
 * one. */
int hs_target_files_next(const struct hs_target_files *files, const char *path, size_t *at);

/* The file that every process mapped at exactly this path. -1: none, or there are several. */
int hs_target_files_only(const struct hs_target_files *files, const char *path);

/* Was any file mapped at exactly this path? */
bool hs_target_files_has(const struct hs_target_files *files, const char *path);

/* Opens a path in root number `idx` for reading; links do not lead out of the root. Returns a
 * descriptor; -ERANGE: there is no such root; otherwise -errno. */
int hs_target_files_open_in_root(const struct hs_target_files *files, size_t idx, const char *path);

/* The lists of a process; NULL: none. */
const struct hs_target_jit *hs_target_files_jit(const struct hs_target_files *files, uint32_t pid);

/* Opens the perf map that a process has left in its root. A descriptor or -errno; -EACCES: it may
 * be anybody's. */
int hs_target_files_open_perf_map(const struct hs_target_files *files,
                                  const struct hs_target_jit *jit);

/* Closes every descriptor of this process from `first_fd` on, except `kept` (`kept_count` of them,
 * at most 8; -1 is skipped) and those of `files`. */
void hs_target_files_close_others(const struct hs_target_files *files, int first_fd,
                                  const int *kept, size_t kept_count);
