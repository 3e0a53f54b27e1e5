/*
 * Code made at run time: see doctor_jit.h.
 */
#include "cli/doctor/doctor_jit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "rt/base.h"
#include "rt/text.h"
#include "util/human.h"
#include "util/proc_maps.h"

static const struct runtime {
    const char *name; /* of the program, or the start of a library's */
    const char *remedy;
} runtimes[] = {
    { "node", "start it with node --perf-basic-prof --interpreted-frames-native-stack" },
    { "nodejs", "start it with node --perf-basic-prof --interpreted-frames-native-stack" },
    { "libnode.so", "start it with --perf-basic-prof" },
    { "chromium", "start it with --js-flags=--perf-basic-prof --no-sandbox" },
    { "java", "load perf-map-agent into it: java -agentpath:libperfmap.so" },
    { "libjvm.so", "load perf-map-agent into it: java -agentpath:libperfmap.so" },
    { "dotnet", "set DOTNET_PerfMapEnabled=1 in its environment" },
    { "libcoreclr.so", "set DOTNET_PerfMapEnabled=1 in its environment" },
    { "php", "set opcache.jit_debug=0x10 in its configuration" },
};

#define REMEDY_ANY                                                                                 \
    "have its runtime write a perf map, as node --perf-basic-prof or python3.12 -X perf do"

static const struct runtime *find_runtime(const char *name, size_t bytes)
{
    for (size_t i = 0; i < HS_COUNT_OF(runtimes); i++) {
        if (strlen(runtimes[i].name) == bytes && memcmp(runtimes[i].name, name, bytes) == 0) {
            return &runtimes[i];
        }
    }
    return NULL;
}

void hs_doctor_jit_program(const char *path, struct hs_findings *findings)
{
    const char *name = hs_text_base_name(path);
    const struct runtime *runtime = find_runtime(name, strlen(name));
    if (runtime) {
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

void hs_doctor_jit_process(pid_t pid, const char *maps, size_t maps_bytes,
                           struct hs_findings *findings)
{
    const struct runtime *runtime = NULL;
    struct hs_proc_map map;
    struct stat st;
    uint64_t code_bytes = 0;
    char path[64], size[HS_HUMAN_BYTES];
    for (const char *at = maps; hs_proc_maps_next(&at, maps + maps_bytes, &map);) {
        const char *slash =
            map.path_bytes && map.is_executable ? memrchr(map.path, '/', map.path_bytes) : NULL;
        code_bytes += is_made_code(&map) ? map.end_va - map.start_va : 0;
        if (!runtime && slash) {
            runtime = find_runtime(slash + 1, (size_t)(map.path + map.path_bytes - slash - 1));
        }
    }
    if (code_bytes == 0) {
        return;
    }
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
    hs_human_bytes(size, (double)code_bytes);
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        hs_findings_add(findings, HS_FINDING_OK, "code made at run time", NULL,
                        "%s of such code, with names in %s", size, path);
    } else {
        hs_findings_add(findings, HS_FINDING_NOTE, "code made at run time",
                        runtime ? runtime->remedy : REMEDY_ANY,
                        "%s of such code have no names: there is no %s", size, path);
    }
}
