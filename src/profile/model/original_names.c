/*
 * Original names of obfuscated frames. See original_names.h.
 */
#include "profile/model/original_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/frame_pids.h"
#include "profile/model/profile_strings.h"
#include "util/array.h"

#define PACKAGES_MAX 16U

struct renaming {
    struct hs_profile *p;
    const struct hs_java_names *names;
    struct hs_profile_strings strings;
    size_t line_capacity;
    uint32_t *pids; /* by frame */
    uint32_t count; /* of frames that were renamed */
};

/* The name that the recording gave the frame; 0: its name comes from elsewhere, or it has none. */
static uint32_t recorded_name(const struct hs_profile *p, const struct hs_profile_frame *frame)
{
    if (frame->kind == HS_FRAME_KIND_MARKER || frame->line_count > 1) {
        return 0;
    }
    if (frame->line_count == 0) {
        return frame->name;
    }
    const struct hs_profile_line *line = &p->lines[frame->line_first];
    /* Symbols of native code are demangled. */
    return line->function == line->system_name ? line->function : 0;
}

/* The packages of the process, which are a list with colons: puts pointers to them into a copy. */
static uint32_t split_packages(const struct hs_profile *p, uint32_t pid, char **ret_copy,
                               const char *ret_packages[PACKAGES_MAX])
{
    uint32_t count = 0, id = 0;
    for (uint32_t i = 0; i < p->process_count && pid != 0; i++) {
        id = p->processes[i].pid == pid && id == 0 ? p->processes[i].packages : id;
    }
    *ret_copy = id != 0 ? strdup(hs_profile_string(p, id)) : NULL;
    char *rest = NULL;
    for (char *at = *ret_copy ? strtok_r(*ret_copy, ":", &rest) : NULL; at && count < PACKAGES_MAX;
         at = strtok_r(NULL, ":", &rest)) {
        ret_packages[count++] = at;
    }
    return count;
}

/* Is this the source file of the class of a method, "org.app.Cache$Entry.put" in "Cache.java"? The
 * recorded file is that of one class; methods that were inlined come from others, too. A class
 * within a class is in the same file. Kotlin's functions outside of classes are in "CacheKt". */
static bool is_file_of(const char *file, const char *method)
{
    const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    const char *method_dot = strrchr(method, '.'), *class = method;
    for (const char *at = method; method_dot && at < method_dot; at++) {
        class = *at == '.' ? at + 1 : class;
    }
    size_t class_bytes = strcspn(class, ".$"), stem_bytes = strcspn(base, ".");
    bool is_kotlin = strcmp(base + stem_bytes, ".kt") == 0 && class_bytes == stem_bytes + 2 &&
                     strncmp(class + stem_bytes, "Kt", 2) == 0;
    return stem_bytes > 0 && (class_bytes == stem_bytes || is_kotlin) &&
           strncmp(class, base, stem_bytes) == 0;
}

/* Gives a frame the lines of the answer. */
static int put_lines(struct renaming *renaming, struct hs_profile_frame *frame, uint32_t recorded,
                     uint32_t file, const struct hs_java_answer *answer)
{
    struct hs_profile *p = renaming->p;
    uint32_t first = p->line_count;
    /* A copy: the table of strings moves when it grows. */
    char *file_name = strdup(hs_profile_string(p, file));
    if (!file_name) {
        return -ENOMEM;
    }
    int err = hs_array_reserve(&p->lines, &renaming->line_capacity, (size_t)first + answer->count,
                               sizeof(*p->lines));
    for (uint32_t i = 0; i < answer->count && err == 0; i++) {
        const struct hs_java_line *from = &answer->lines[i];
        struct hs_profile_line line = {
            .system_name = recorded,
            .file = !answer->is_chain || is_file_of(file_name, from->name) ? file : 0,
            .line = from->has_line ? from->line : 0
        };
        err = hs_profile_strings_put(&renaming->strings, from->name, &line.function);
        p->lines[first + i] = line;
    }
    if (err == 0) {
        p->line_count += answer->count;
        frame->line_first = first;
        frame->line_count = answer->count;
        renaming->count++;
    }
    free(file_name);
    return err;
}

static int rename_frame(struct renaming *renaming, uint32_t idx)
{
    struct hs_profile *p = renaming->p;
    struct hs_profile_frame *frame = &p->frames[idx];
    uint32_t recorded = recorded_name(p, frame);
    const char *packages[PACKAGES_MAX];
    const struct hs_profile_line *line =
        frame->line_count > 0 ? &p->lines[frame->line_first] : NULL;
    struct hs_java_answer answer;
    struct hs_java_frame question = {
        .name = hs_profile_string(p, recorded),
        .path = frame->module < p->module_count
                    ? hs_profile_string(p, p->modules[frame->module].path)
                    : "",
        .has_line = frame->line != 0,
        .line = frame->line,
        .packages = packages,
    };
    size_t bytes;
    hs_java_name_key(question.name, &bytes);
    if (recorded == 0 || bytes == 0) {
        return 0;
    }
    char *copy;
    question.package_count = split_packages(p, renaming->pids[idx], &copy, packages);
    int err = hs_java_names_find(renaming->names, &question, &answer);
    if (err == 0 && answer.count > 0) {
        err = put_lines(renaming, frame, recorded, line ? line->file : 0, &answer);
    }
    hs_java_answer_deinit(&answer);
    free(copy);
    return err;
}

int hs_original_names_wanted(const struct hs_profile *profile, struct hs_java_wanted *wanted)
{
    int err = 0;
    for (uint32_t i = 0; i < profile->frame_count && err == 0; i++) {
        uint32_t name = recorded_name(profile, &profile->frames[i]);
        err = hs_java_wanted_add(wanted, hs_profile_string(profile, name));
    }
    return err;
}

int hs_original_names_apply(struct hs_profile *profile, const struct hs_java_names *names,
                            uint32_t *ret_count)
{
    struct renaming renaming = { .p = profile,
                                 .names = names,
                                 .line_capacity = profile->line_count };
    int err = names->method_count > 0 ? hs_profile_frame_pids(profile, &renaming.pids) : 0;
    if (err == 0 && renaming.pids) {
        err = hs_profile_strings_init(&renaming.strings, profile);
        for (uint32_t i = 0; i < profile->frame_count && err == 0; i++) {
            err = rename_frame(&renaming, i);
        }
        hs_profile_strings_deinit(&renaming.strings);
    }
    free(renaming.pids);
    if (ret_count) {
        *ret_count = renaming.count;
    }
    return err;
}
