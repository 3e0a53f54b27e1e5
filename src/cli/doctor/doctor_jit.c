/*
 * Code made at run time: see doctor_jit.h.
 */
#include "cli/doctor/doctor_jit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "rt/text.h"
#include "symbol/target_files.h"
#include "util/human.h"
#include "util/jit_runtimes.h"
#include "util/proc.h"
#include "util/proc_maps.h"

void hs_doctor_jit_program(const char *path, struct hs_findings *findings)
{
    const char *name = hs_text_base_name(path);
    const struct hs_jit_runtime *runtime = hs_jit_runtime_find(name, strlen(name));
    if (runtime && runtime->named) {
        hs_findings_add(findings, HS_FINDING_NOTE, "code made at run time", runtime->remedy,
                        "%s have names; other code that %s makes at run time has none without a "
                        "perf map",
                        runtime->named, name);
    } else if (runtime) {
        hs_findings_add(
            findings, HS_FINDING_NOTE, "code made at run time", runtime->remedy,
            "%s compiles functions at run time, and without a perf map they have no names", name);
    }
}

/* True: executable memory that belongs to no file. The kernel names its own in brackets: [vdso]. */
static bool is_made_code(const struct hs_proc_map *map)
{
    return map->is_executable && map->inode == 0 &&
           (map->path_bytes == 0 || (map->path_bytes > 6 && memcmp(map->path, "[anon:", 6) == 0));
}

/* Does the process have a list of its code, as a recording finds it? `ret_path` names the list, or
 * the perf map that is missing: in the process's root, by the number that the process sees. */
static bool find_list(pid_t pid, char *ret_path, size_t path_bytes)
{
    struct hs_proc_status status = { 0 };
    struct hs_target_files *files = NULL;
    struct stat st;
    hs_proc_read_status(pid, &status);
    hs_target_files_look(&files, pid, status.uid.effective, true);
    const struct hs_target_jit *jit = hs_target_files_jit(files, (uint32_t)pid);
    bool has_dump = jit && jit->dump_fd >= 0;
    bool has_map = jit && jit->map_fd >= 0 && fstat(jit->map_fd, &st) == 0 && st.st_size > 0;
    snprintf(ret_path, path_bytes, has_dump && !has_map ? "jit-%u.dump" : "/tmp/perf-%u.map",
             status.own_pid != 0 ? status.own_pid : (unsigned)pid);
    hs_target_files_free(files);
    return has_dump || has_map;
}

void hs_doctor_jit_process(pid_t pid, const char *maps, size_t maps_bytes,
                           struct hs_findings *findings)
{
    const struct hs_jit_runtime *runtime = NULL;
    struct hs_proc_map map;
    uint64_t code_bytes = 0;
    char path[64], size[HS_HUMAN_BYTES];
    for (const char *at = maps; hs_proc_maps_next(&at, maps + maps_bytes, &map);) {
        const char *slash =
            map.path_bytes && map.is_executable ? memrchr(map.path, '/', map.path_bytes) : NULL;
        code_bytes += is_made_code(&map) ? map.end_va - map.start_va : 0;
        if (!runtime && slash) {
            runtime =
                hs_jit_runtime_find(slash + 1, (size_t)(map.path + map.path_bytes - slash - 1));
        }
    }
    if (code_bytes == 0) {
        return;
    }
    hs_human_bytes(size, (double)code_bytes);
    if (find_list(pid, path, sizeof(path))) {
        hs_findings_add(findings, HS_FINDING_OK, "code made at run time", NULL,
                        "%s of such code, with names in %s", size, path);
    } else if (runtime && runtime->named) {
        hs_findings_add(findings, HS_FINDING_NOTE, "code made at run time", runtime->remedy,
                        "%s of such code: %s have names; the rest has none, because there is no %s",
                        size, runtime->named, path);
    } else {
        hs_findings_add(findings, HS_FINDING_NOTE, "code made at run time",
                        runtime ? runtime->remedy : HS_JIT_REMEDY_ANY,
                        "%s of such code have no names: there is no %s", size, path);
    }
}
