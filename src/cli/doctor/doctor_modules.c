/*
 * Rules over modules: see doctor_modules.h.
 */
#include "cli/doctor/doctor_modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base.h"
#include "rt/text.h"
#include "util/array.h"

#define NAMES_SHOWN 8U
#define NAMES_BYTES 1024U

/* The C library's start-up code in every module: almost all of it has no rules. */
#define START_CODE_BYTES    256U
#define START_COVERED_BYTES 64U
/* A library with less code than this only forwards to others. */
#define OWN_CODE_MIN_BYTES 128U
/* Hand-written assembler without rules is a small part of most libraries, and a large part of
 * codecs. */
#define PART_MIN_CODE_BYTES 4096U
#define PART_PERCENT        60U

bool hs_doctor_modules_has(const struct hs_doctor_modules *modules, const char *path)
{
    for (size_t i = 0; i < modules->count; i++) {
        if (strcmp(modules->items[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

void hs_doctor_modules_add(struct hs_doctor_modules *modules, const char *path, const char *file)
{
    if (hs_doctor_modules_has(modules, path) ||
        hs_array_reserve(&modules->items, &modules->capacity, modules->count + 1,
                         sizeof(*modules->items)) != 0) {
        return;
    }
    struct hs_doctor_module *module = &modules->items[modules->count];
    *module = (struct hs_doctor_module){ .path = strdup(path) };
    if (module->path) {
        module->err = hs_module_health_look(file, NULL, &module->health);
        modules->count++;
    }
}

static const char *name_of(const struct hs_doctor_module *module)
{
    return hs_text_base_name(module->path);
}

void hs_doctor_modules_deinit(struct hs_doctor_modules *modules)
{
    for (size_t i = 0; i < modules->count; i++) {
        free(modules->items[i].path);
    }
    free(modules->items);
    *modules = (struct hs_doctor_modules){ 0 };
}

/* --- rules ------------------------------------------------------------------------------------ */

static uint64_t own_code_bytes(const struct hs_module_health *health)
{
    uint64_t bytes = health->code_bytes;
    return bytes > START_CODE_BYTES + OWN_CODE_MIN_BYTES ? bytes - START_CODE_BYTES : 0;
}

static bool has_no_rules(const struct hs_module_health *health)
{
    uint64_t own_bytes = own_code_bytes(health);
    return own_bytes > 0 && health->covered_bytes <= START_COVERED_BYTES + own_bytes / 100;
}

static bool has_debug_frame(const struct hs_module_health *health)
{
    return has_no_rules(health) && health->unwind_files == HS_UNWIND_FILES_MODULE;
}

static bool has_debug_file(const struct hs_module_health *health)
{
    return has_no_rules(health) && health->unwind_files == HS_UNWIND_FILES_DEBUG;
}

static bool has_mini_debug(const struct hs_module_health *health)
{
    return has_no_rules(health) && health->unwind_files == HS_UNWIND_FILES_MINI;
}

static bool has_only_frame_pointers(const struct hs_module_health *health)
{
    return has_no_rules(health) && health->unwind_files == HS_UNWIND_FILES_NONE &&
           health->has_frame_pointers;
}

static bool has_nothing(const struct hs_module_health *health)
{
    return has_no_rules(health) && health->unwind_files == HS_UNWIND_FILES_NONE &&
           !health->has_frame_pointers;
}

static bool has_unfound_rules(const struct hs_module_health *health)
{
    return !has_no_rules(health) && health->tables == HS_UNWIND_TABLES_UNFOUND;
}

static bool has_unsorted_rules(const struct hs_module_health *health)
{
    return !has_no_rules(health) && health->tables == HS_UNWIND_TABLES_PLAIN;
}

static bool has_rules_in_part(const struct hs_module_health *health)
{
    uint64_t own_bytes = own_code_bytes(health);
    return own_bytes >= PART_MIN_CODE_BYTES && !has_no_rules(health) &&
           health->covered_bytes < own_bytes / 100 * PART_PERCENT;
}

static bool has_no_build_id(const struct hs_module_health *health)
{
    return !health->has_build_id;
}

static bool has_no_names(const struct hs_module_health *health)
{
    return own_code_bytes(health) > 0 && health->names == HS_MODULE_NAMES_NONE;
}

static bool has_exported_names(const struct hs_module_health *health)
{
    return own_code_bytes(health) > 0 && health->names == HS_MODULE_NAMES_EXPORTED;
}

static bool has_no_lines(const struct hs_module_health *health)
{
    return own_code_bytes(health) > 0 && !health->is_debug_unreadable &&
           (health->names == HS_MODULE_NAMES_MINI || health->names == HS_MODULE_NAMES_SYMTAB);
}

static bool has_unreadable_lines(const struct hs_module_health *health)
{
    return health->is_debug_unreadable;
}

#define UNWIND_TABLES "unwind tables"
#define BUILD_IDS     "build ids"
#define NAMES         "names"

#define DEBUG_FILES                                                                                \
    "install their -dbgsym packages, or put their .debug files beside them or into "               \
    "/usr/lib/debug/.build-id"

/* Of unwind tables. */
#define IN_FILES                                                                                   \
    "stacks are cut for the first milliseconds of 'heapscope run'; if that matters, build with "   \
    "-fasynchronous-unwind-tables"

static const struct rule {
    const char *check;
    enum hs_finding_state state;
    bool (*applies)(const struct hs_module_health *health);
    const char *what, *remedy;
} rules[] = {
    { UNWIND_TABLES, HS_FINDING_PROBLEM, has_nothing,
      "no unwind tables for the code of %s: stacks end there",
      "build with -fasynchronous-unwind-tables, or install their -dbgsym packages" },
    { UNWIND_TABLES, HS_FINDING_NOTE, has_only_frame_pointers,
      "no unwind tables for the code of %s, which seems to keep frame pointers: heapscope follows "
      "these",
      "if frames are missing, build with -fasynchronous-unwind-tables" },
    { UNWIND_TABLES, HS_FINDING_NOTE, has_debug_frame,
      "the unwind tables of %s are only in .debug_frame, which heapscope reads from the file",
      IN_FILES },
    { UNWIND_TABLES, HS_FINDING_NOTE, has_debug_file,
      "the unwind tables of %s are only in a debug file (.debug_frame), which heapscope reads",
      IN_FILES },
    { UNWIND_TABLES, HS_FINDING_NOTE, has_mini_debug,
      "the unwind tables of %s are only in mini debug info (.gnu_debugdata), which heapscope reads "
      "from the file",
      IN_FILES },
    { UNWIND_TABLES, HS_FINDING_NOTE, has_unfound_rules,
      "the unwind tables of %s (.eh_frame) cannot be found at run time: heapscope reads them from "
      "the file",
      IN_FILES ", and link with -Wl,--eh-frame-hdr" },
    { UNWIND_TABLES, HS_FINDING_NOTE, has_unsorted_rules,
      "the unwind tables of %s have no search table: recording is slow there",
      "link with -Wl,--eh-frame-hdr" },
    { UNWIND_TABLES, HS_FINDING_NOTE, has_rules_in_part,
      "no unwind tables for much of the code of %s (usually assembly code): some stacks end there",
      "if stacks end there, add .cfi directives to the assembly code" },
    { BUILD_IDS, HS_FINDING_NOTE, has_no_build_id,
      "no build id in %s: heapscope cannot tell whether a file is the one that ran",
      "link with -Wl,--build-id" },
    { NAMES, HS_FINDING_NOTE, has_no_names, "no names at all in %s", DEBUG_FILES },
    { NAMES, HS_FINDING_NOTE, has_exported_names, "only exported functions have names in %s",
      DEBUG_FILES },
    { NAMES, HS_FINDING_NOTE, has_no_lines, "no inlined functions and lines in %s",
      "build with -g, or " DEBUG_FILES },
    { NAMES, HS_FINDING_NOTE, has_unreadable_lines,
      "no inlined functions and lines in %s: the debug information is compressed with zstd, and "
      "cannot be unpacked",
      "unpack it with objcopy --decompress-debug-sections FILE" },
};

/* --- words ------------------------------------------------------------------------------------ */

void hs_doctor_join(char *text, size_t text_bytes, const char *name, size_t idx, size_t count)
{
    size_t used = strlen(text);
    /* The last name is as short as "and 1 more". */
    size_t shown = count > NAMES_SHOWN + 1 ? NAMES_SHOWN : count;
    const char *before = idx == 0 ? "" : idx + 1 == count ? " and " : ", ";
    if (idx < shown) {
        snprintf(text + used, text_bytes - used, "%s%s", before, name);
    } else if (idx == shown) {
        snprintf(text + used, text_bytes - used, " and %zu more", count - shown);
    }
}

static bool applies(const struct hs_doctor_module *module, const struct rule *rule)
{
    return module->err == 0 && module->health.has_code && rule->applies(&module->health);
}

static size_t say_rule(const struct hs_doctor_modules *modules, const struct rule *rule,
                       struct hs_findings *findings)
{
    char names[NAMES_BYTES] = "";
    size_t count = 0, idx = 0;
    for (size_t i = 0; i < modules->count; i++) {
        count += applies(&modules->items[i], rule);
    }
    for (size_t i = 0; i < modules->count; i++) {
        if (applies(&modules->items[i], rule)) {
            hs_doctor_join(names, sizeof(names), name_of(&modules->items[i]), idx++, count);
        }
    }
    if (count > 0) {
        const char *split = strstr(rule->what, "%s");
        hs_findings_add(findings, rule->state, rule->check, rule->remedy, "%.*s%s%s",
                        (int)(split - rule->what), rule->what, names, split + 2);
    }
    return count;
}

/* Adds what debug information there is, before the findings about what is missing. */
static void say_debug_information(const struct hs_doctor_modules *modules,
                                  struct hs_findings *findings)
{
    size_t count = 0, separate_count = 0;
    const char *path = NULL;
    for (size_t i = 0; i < modules->count; i++) {
        const struct hs_doctor_module *module = &modules->items[i];
        bool has_debug = module->err == 0 && module->health.names == HS_MODULE_NAMES_DEBUG;
        bool is_separate = has_debug && module->health.debug_path[0];
        count += has_debug;
        separate_count += is_separate;
        path = is_separate && !path ? module->health.debug_path : path;
    }
    if (count > 0 && !path) {
        hs_findings_add(findings, HS_FINDING_OK, NAMES, NULL,
                        "%zu of %zu modules have debug information (functions and lines)", count,
                        modules->count);
    } else if (count > 0) {
        hs_findings_add(
            findings, HS_FINDING_OK, NAMES, NULL,
            "%zu of %zu modules have debug information, %zu of them in separate files (such as %s)",
            count, modules->count, separate_count, path);
    }
}

static void say_unreadable(const struct hs_doctor_modules *modules, struct hs_findings *findings)
{
    size_t count = 0;
    const struct hs_doctor_module *first = NULL;
    for (size_t i = 0; i < modules->count; i++) {
        bool is_bad = modules->items[i].err != 0;
        first = is_bad && !first ? &modules->items[i] : first;
        count += is_bad;
    }
    if (first) {
        hs_findings_add(findings, HS_FINDING_NOTE, "modules",
                        "keep the files of running programs in their place, and readable",
                        "%zu module%s cannot be read; the first is %s: %s", count,
                        count == 1 ? "" : "s", name_of(first),
                        first->err > 0 ? "another build is in its place" : strerror(-first->err));
    }
}

void hs_doctor_modules_say(const struct hs_doctor_modules *modules, struct hs_findings *findings)
{
    static const struct {
        const char *check, *fine;
    } checks[] = {
        { UNWIND_TABLES, "every module has unwind tables (.eh_frame)" },
        { BUILD_IDS, "every module has a build id" },
        { NAMES, NULL },
    };
    if (modules->count == 0) {
        return;
    }
    say_unreadable(modules, findings);
    for (size_t c = 0; c < HS_COUNT_OF(checks); c++) {
        size_t count = 0;
        if (!checks[c].fine) {
            say_debug_information(modules, findings);
        }
        for (size_t i = 0; i < HS_COUNT_OF(rules); i++) {
            if (strcmp(rules[i].check, checks[c].check) == 0) {
                count += say_rule(modules, &rules[i], findings);
            }
        }
        if (count == 0 && checks[c].fine) {
            hs_findings_add(findings, HS_FINDING_OK, checks[c].check, NULL, "%s", checks[c].fine);
        }
    }
}
