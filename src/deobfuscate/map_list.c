/*
 * Lists of maps, and reading one of them. See map_list.h.
 */
#include "deobfuscate/map_list.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/array.h"

void hs_map_list_deinit(struct hs_map_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->files[i].package);
        free(list->files[i].path);
    }
    free(list->files);
    *list = (struct hs_map_list){ 0 };
}

static int add(struct hs_map_list *list, const char *text, size_t bytes)
{
    const char *equals = memchr(text, '=', bytes);
    size_t package_bytes = equals ? (size_t)(equals - text) : 0;
    const char *path = equals ? equals + 1 : text;
    size_t path_bytes = bytes - (size_t)(path - text);
    if (path_bytes == 0) {
        return -EINVAL;
    }
    int err =
        hs_array_reserve(&list->files, &list->capacity, list->count + 1, sizeof(list->files[0]));
    if (err != 0) {
        return err;
    }
    struct hs_map_file *file = &list->files[list->count++];
    file->package = strndup(text, package_bytes);
    file->path = strndup(path, path_bytes);
    return file->package && file->path ? 0 : -ENOMEM;
}

int hs_map_list_add(struct hs_map_list *list, const char *text)
{
    return add(list, text, strlen(text));
}

int hs_map_list_add_all(struct hs_map_list *list, const char *text)
{
    int err = 0;
    while (*text != '\0' && err == 0) {
        size_t bytes = strcspn(text, ":");
        err = bytes > 0 ? add(list, text, bytes) : 0;
        text += bytes + (text[bytes] == ':');
    }
    return err;
}

int hs_map_list_add_environment(struct hs_map_list *list)
{
    const char *value = getenv("PERFETTO_PROGUARD_MAP");
    return value ? hs_map_list_add_all(list, value) : 0;
}

/* --- what is wrong --- */

void hs_map_list_write_error(int err, struct hs_buf *words)
{
    const char *value = getenv("PERFETTO_PROGUARD_MAP");
    if (err == -EINVAL) {
        hs_buf_printf(words,
                      "Invalid PERFETTO_PROGUARD_MAP: '%s': expected "
                      "[PACKAGE=]FILE[:[PACKAGE=]FILE...], such as com.example.one=one.txt:two.txt",
                      value ? value : "");
    } else {
        hs_buf_printf(words, "PERFETTO_PROGUARD_MAP: %s", strerror(-err));
    }
}

void hs_map_file_write_error(const struct hs_map_file *file, int err,
                             const struct hs_proguard_error *error, struct hs_buf *words)
{
    if (err == HS_PROGUARD_E_LINE) {
        hs_buf_printf(
            words, "%s: line %" PRIu64 ": %s: this is no map of R8 or ProGuard, or it is damaged",
            file->path, error->line, error->what);
    } else {
        hs_buf_printf(words, "%s: cannot read the map: %s", file->path, strerror(-err));
    }
}

/* --- reading --- */

/* Passes on what is wanted. A class is passed on with its first member. */
struct filter {
    const struct hs_java_wanted *wanted;
    const struct hs_proguard_sink *sink;
    struct hs_buf original, obfuscated; /* of the last class */
    struct hs_buf method;               /* "class.method" */
    bool is_class_told;
};

static struct hs_proguard_text text_of(struct hs_buf *buf)
{
    return (struct hs_proguard_text){ hs_buf_text(buf), buf->bytes };
}

static int tell_class(struct filter *filter)
{
    int err = filter->original.err ? filter->original.err : filter->obfuscated.err;
    if (err != 0 || filter->is_class_told) {
        return err;
    }
    filter->is_class_told = true;
    return filter->sink->take_class(filter->sink->ctx, text_of(&filter->original),
                                    text_of(&filter->obfuscated));
}

static int take_class(void *ctx, struct hs_proguard_text original,
                      struct hs_proguard_text obfuscated)
{
    struct filter *filter = ctx;
    hs_buf_clear(&filter->original);
    hs_buf_clear(&filter->obfuscated);
    hs_buf_add(&filter->original, original.at, original.bytes);
    hs_buf_add(&filter->obfuscated, obfuscated.at, obfuscated.bytes);
    filter->is_class_told = false;
    return filter->wanted ? 0 : tell_class(filter);
}

static int take_member(void *ctx, const struct hs_proguard_member *member)
{
    struct filter *filter = ctx;
    if (filter->wanted) {
        if (!member->is_method) {
            return 0;
        }
        hs_buf_clear(&filter->method);
        hs_buf_add(&filter->method, hs_buf_text(&filter->obfuscated), filter->obfuscated.bytes);
        hs_buf_char(&filter->method, '.');
        hs_buf_add(&filter->method, member->obfuscated.at, member->obfuscated.bytes);
        if (filter->method.err != 0) {
            return filter->method.err;
        }
        if (!hs_java_wanted_has(filter->wanted, hs_buf_text(&filter->method),
                                filter->method.bytes)) {
            return 0;
        }
    }
    int err = tell_class(filter);
    return err ? err : filter->sink->take_member(filter->sink->ctx, member);
}

int hs_map_file_read(const struct hs_map_file *file, const struct hs_java_wanted *wanted,
                     const struct hs_proguard_sink *sink, struct hs_proguard_error *ret_error)
{
    struct filter filter = { .wanted = wanted, .sink = sink };
    const struct hs_proguard_sink own = { &filter, take_class, take_member };
    *ret_error = (struct hs_proguard_error){ 0 };
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int err = hs_proguard_map_read(fd, &own, ret_error);
    close(fd);
    hs_buf_deinit(&filter.original);
    hs_buf_deinit(&filter.obfuscated);
    hs_buf_deinit(&filter.method);
    return err;
}

/* --- into a table --- */

struct collecting {
    struct hs_java_names *names;
    const char *package;
    struct hs_buf original, obfuscated; /* of the class */
    struct hs_buf member_original, member_obfuscated;
};

static const char *set_text(struct hs_buf *buf, struct hs_proguard_text text)
{
    hs_buf_clear(buf);
    hs_buf_add(buf, text.at, text.bytes);
    return hs_buf_text(buf);
}

static int collect_class(void *ctx, struct hs_proguard_text original,
                         struct hs_proguard_text obfuscated)
{
    struct collecting *collecting = ctx;
    set_text(&collecting->original, original);
    set_text(&collecting->obfuscated, obfuscated);
    return collecting->original.err ? collecting->original.err : collecting->obfuscated.err;
}

static int collect_member(void *ctx, const struct hs_proguard_member *member)
{
    struct collecting *collecting = ctx;
    const struct hs_java_method method = {
        .obfuscated = set_text(&collecting->member_obfuscated, member->obfuscated),
        .original = set_text(&collecting->member_original, member->original),
        .has_lines = member->has_lines,
        .has_source = member->has_lines,
        .has_source_last = member->has_lines,
        .line_first = member->line_first,
        .line_last = member->line_last,
        .source_first = member->source_first,
        .source_last = member->source_last,
    };
    return member->is_method ? hs_java_names_add(collecting->names, collecting->package,
                                                 hs_buf_text(&collecting->obfuscated),
                                                 hs_buf_text(&collecting->original), &method)
                             : 0;
}

int hs_map_file_read_names(const struct hs_map_file *file, const struct hs_java_wanted *wanted,
                           struct hs_java_names *names, struct hs_proguard_error *ret_error)
{
    struct collecting collecting = { .names = names, .package = file->package };
    const struct hs_proguard_sink sink = { &collecting, collect_class, collect_member };
    int err = hs_map_file_read(file, wanted, &sink, ret_error);
    hs_buf_deinit(&collecting.original);
    hs_buf_deinit(&collecting.obfuscated);
    hs_buf_deinit(&collecting.member_original);
    hs_buf_deinit(&collecting.member_obfuscated);
    return err;
}
