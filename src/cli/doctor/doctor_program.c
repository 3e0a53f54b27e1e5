/*
 * A program before it runs: see doctor.h.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_jit.h"
#include "cli/doctor/doctor_modules.h"
#include "cli/preflight_words.h"
#include "collect/inspect/preflight.h"
#include "rt/text.h"
#include "symbol/library_search.h"

#define NAMES_BYTES 1024U

/* False: the program cannot be profiled, and further checks are useless. */
static bool say_verdict(const char *program, const struct hs_preflight *preflight,
                        struct hs_findings *findings)
{
    struct hs_preflight_words words;
    if (hs_preflight_words(program, preflight, &words)) {
        hs_findings_add(findings, HS_FINDING_PROBLEM, "program", words.remedy, "%s", words.what);
        return false;
    }
    if (preflight->is_script) {
        hs_findings_add(findings, HS_FINDING_OK, "program", NULL,
                        "%s is a script; %s runs it and can be profiled", preflight->path,
                        preflight->elf);
    } else {
        hs_findings_add(findings, HS_FINDING_OK, "program", NULL, "%s can be profiled",
                        preflight->path);
    }
    if (preflight->defines_malloc) {
        hs_findings_add(
            findings, HS_FINDING_NOTE, "allocator",
            "if 'heapscope run' prints that it cannot record this malloc, link the "
            "allocator as a shared library",
            "%s contains its own malloc: heapscope redirects its calls when the program "
            "starts, for which heapscope needs permission to trace the program",
            preflight->elf);
    }
    return true;
}

static void say_missing(const struct hs_libraries *libraries, struct hs_findings *findings)
{
    char names[NAMES_BYTES] = "";
    size_t count = 0, idx = 0;
    for (size_t i = 0; i < libraries->count; i++) {
        count += !libraries->items[i].path;
    }
    for (size_t i = 0; i < libraries->count; i++) {
        if (!libraries->items[i].path) {
            hs_doctor_join(names, sizeof(names), libraries->items[i].name, idx++, count);
        }
    }
    if (count > 0) {
        hs_findings_add(findings, HS_FINDING_PROBLEM, "libraries",
                        "install what is missing, or name its folder in LD_LIBRARY_PATH",
                        "%zu of %zu libraries cannot be found, so the program will not start: %s",
                        count, libraries->count - 1, names);
    } else {
        hs_findings_add(findings, HS_FINDING_OK, "libraries", NULL,
                        "%zu of %zu libraries were found (those that the program opens at run time "
                        "are not known)",
                        libraries->count - 1, libraries->count - 1);
    }
}

static void check_modules(const char *path, struct hs_findings *findings)
{
    const struct hs_library_options options = { .library_path = getenv("LD_LIBRARY_PATH") };
    struct hs_libraries libraries;
    struct hs_doctor_modules modules = { 0 };
    /* Debug files are searched by the absolute path, not by "./program". */
    char real[PATH_MAX];
    path = realpath(path, real) ? real : path;
    int r = hs_library_search(path, &options, &libraries);
    if (r < 0) {
        hs_findings_add(findings, HS_FINDING_NOTE, "modules",
                        "run doctor as a user who has permission to read it", "cannot read %s: %s",
                        path, strerror(-r));
        return;
    }
    say_missing(&libraries, findings);
    for (size_t i = 0; i < libraries.count; i++) {
        const struct hs_library *library = &libraries.items[i];
        if (library->path) {
            hs_doctor_modules_add(&modules, library->path, library->path);
        }
    }
    hs_doctor_modules_say(&modules, findings);
    hs_doctor_modules_deinit(&modules);
    hs_libraries_deinit(&libraries);
}

void hs_doctor_program(const char *program, struct hs_findings *findings)
{
    struct hs_preflight preflight;
    hs_preflight_check(program, &preflight);
    if (say_verdict(program, &preflight, findings)) {
        hs_doctor_jit_program(preflight.elf, findings);
        check_modules(preflight.elf, findings);
    }
}
