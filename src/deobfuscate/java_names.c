/*
 * The table of methods, and how a frame is found in it. See java_names.h.
 */
#include "deobfuscate/java_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define CANDIDATES_MAX 16U

void hs_java_names_deinit(struct hs_java_names *names)
{
    hs_intern_deinit(&names->list_ids.ids);
    hs_intern_deinit(&names->last_ids.ids);
    hs_intern_deinit(&names->text_ids.ids);
    free(names->methods);
    free(names->lists);
    free(names->last_packages);
    free(names->text_offs);
    hs_buf_deinit(&names->texts);
    *names = (struct hs_java_names){ 0 };
}

/* --- adding --- */

static uint64_t package_hash(const char *package, size_t bytes)
{
    return hs_intern_hash(package, bytes).lo;
}

static int put_text(struct hs_java_names *names, const char *text, size_t bytes, uint32_t *ret_off)
{
    uint32_t *off;
    bool is_new;
    int err = hs_intern_at(&names->text_ids, &names->text_offs, sizeof(*off),
                           hs_intern_hash(text, bytes), (void **)&off, &is_new);
    if (err == 0 && is_new) {
        if (names->texts.bytes + bytes + 1 > UINT32_MAX) {
            return -EOVERFLOW;
        }
        *off = (uint32_t)names->texts.bytes;
        hs_buf_add(&names->texts, text, bytes);
        hs_buf_char(&names->texts, '\0');
        err = names->texts.err;
    }
    *ret_off = err == 0 ? *off : 0;
    return err;
}

static int put_method(struct hs_java_names *names, struct hs_java_list *list, uint32_t name_off,
                      const struct hs_java_method *method)
{
    int err = hs_array_reserve(&names->methods, &names->method_capacity, names->method_count + 1,
                               sizeof(names->methods[0]));
    if (err == 0 && names->method_count >= UINT32_MAX - 1) {
        err = -EOVERFLOW;
    }
    if (err != 0) {
        return err;
    }
    names->methods[names->method_count++] = (struct hs_java_kept){
        .name_off = name_off,
        .line_first = method->line_first,
        .line_last = method->line_last,
        .source_first = method->source_first,
        .source_last = method->source_last,
        .has_lines = method->has_lines,
        .has_source = method->has_source,
        .has_source_last = method->has_source_last,
    };
    uint32_t number = (uint32_t)names->method_count;
    if (list->last > 0) {
        names->methods[list->last - 1].next = number;
    } else {
        list->first = number;
    }
    list->last = number;
    return 0;
}

int hs_java_names_add(struct hs_java_names *names, const char *package, const char *obfuscated,
                      const char *original, const struct hs_java_method *method)
{
    struct hs_buf from = HS_BUF_INIT, to = HS_BUF_INIT;
    uint64_t package_of = package_hash(package, strlen(package));
    struct hs_java_list *list;
    uint64_t *last_package;
    uint32_t name_off = 0;
    bool is_new;
    hs_buf_printf(&from, "%s.%s", obfuscated, method->obfuscated);
    /* A name with a point is complete: the method came from another class. */
    if (!strchr(method->original, '.')) {
        hs_buf_printf(&to, "%s.", original);
    }
    hs_buf_str(&to, method->original);
    int err = from.err ? from.err : to.err;
    struct hs_intern_key key = hs_intern_hash(hs_buf_text(&from), from.bytes);
    err = err ? err : put_text(names, hs_buf_text(&to), to.bytes, &name_off);
    err = err ? err
              : hs_intern_at(&names->last_ids, &names->last_packages, sizeof(*last_package), key,
                             (void **)&last_package, &is_new);
    if (err == 0) {
        *last_package = package_of;
        err = hs_intern_at(&names->list_ids, &names->lists, sizeof(*list),
                           hs_intern_mix(key, package_of), (void **)&list, &is_new);
    }
    err = err ? err : put_method(names, list, name_off, method);
    hs_buf_deinit(&from);
    hs_buf_deinit(&to);
    return err;
}

/* --- finding --- */

const char *hs_java_name_key(const char *name, size_t *ret_bytes)
{
    const char *open = strchr(name, '(');
    size_t bytes = open ? (size_t)(open - name) : strlen(name);
    size_t first = bytes;
    while (open && first > 0 && name[first - 1] != ' ') {
        first--;
    }
    first = open ? first : 0;
    *ret_bytes = memchr(name + first, '.', bytes - first) ? bytes - first : 0;
    return name + first;
}

/* The packages to search, most likely first. */
static uint32_t candidates_of(const struct hs_java_names *names, const struct hs_java_frame *frame,
                              struct hs_intern_key name, uint64_t *ret_hashes,
                              struct hs_java_answer *answer)
{
    const char *package;
    size_t bytes;
    uint32_t count = 0;
    enum hs_app_package found = hs_app_package_of(frame->path, &package, &bytes);
    answer->is_path_bad = found == HS_APP_PACKAGE_BAD;
    if (found == HS_APP_PACKAGE_FOUND) {
        ret_hashes[count++] = package_hash(package, bytes);
    } else if (strncmp(frame->path, "/memfd:", strlen("/memfd:")) == 0) {
        const uint64_t *last =
            hs_intern_elem(&names->last_ids, names->last_packages, sizeof(*last), name);
        ret_hashes[count++] = last ? *last : package_hash("", 0);
    } else {
        for (size_t i = 0; i < frame->package_count && count < CANDIDATES_MAX - 1; i++) {
            ret_hashes[count++] = package_hash(frame->packages[i], strlen(frame->packages[i]));
        }
    }
    ret_hashes[count++] = package_hash("", 0);
    return count;
}

static const char *text_at(const struct hs_java_names *names, uint32_t off)
{
    return names->texts.data + off;
}

static uint32_t source_line(const struct hs_java_kept *method, const struct hs_java_frame *frame)
{
    uint32_t line = method->source_first + (frame->line - method->line_first);
    bool is_behind = method->has_source_last && !frame->has_perfetto_lines &&
                     method->source_last >= method->source_first && line > method->source_last;
    return is_behind ? method->source_last : line;
}

/* The methods whose lines contain that of the frame. */
static void find_chain(const struct hs_java_names *names, const struct hs_java_list *list,
                       const struct hs_java_frame *frame, struct hs_java_answer *answer)
{
    for (uint32_t i = list->first; i != 0 && answer->count < HS_JAVA_CHAIN_MAX;
         i = names->methods[i - 1].next) {
        const struct hs_java_kept *method = &names->methods[i - 1];
        if (method->has_lines && method->line_first <= frame->line &&
            frame->line <= method->line_last) {
            answer->lines[answer->count++] = (struct hs_java_line){
                .name = text_at(names, method->name_off),
                .has_line = method->has_source,
                .line = method->has_source ? source_line(method, frame) : 0,
            };
        }
    }
    answer->is_chain = answer->count > 0;
}

/* Joins all different names: "A | B". */
static int join_names(const struct hs_java_names *names, const struct hs_java_list *list,
                      struct hs_java_answer *answer)
{
    uint32_t seen[HS_JAVA_CHAIN_MAX];
    uint32_t count = 0;
    for (uint32_t i = list->first; i != 0 && count < HS_JAVA_CHAIN_MAX;
         i = names->methods[i - 1].next) {
        uint32_t off = names->methods[i - 1].name_off, k = 0;
        while (k < count && seen[k] != off) {
            k++;
        }
        if (k == count) {
            hs_buf_str(&answer->joined, count > 0 ? " | " : "");
            hs_buf_str(&answer->joined, text_at(names, off));
            seen[count++] = off;
        }
    }
    answer->lines[0] = (struct hs_java_line){ .name = hs_buf_text(&answer->joined) };
    answer->count = answer->joined.err == 0;
    return answer->joined.err;
}

int hs_java_names_find(const struct hs_java_names *names, const struct hs_java_frame *frame,
                       struct hs_java_answer *ret_answer)
{
    uint64_t hashes[CANDIDATES_MAX];
    size_t bytes;
    *ret_answer = (struct hs_java_answer){ 0 };
    const char *name = hs_java_name_key(frame->name, &bytes);
    if (bytes == 0 || names->method_count == 0) {
        return 0;
    }
    struct hs_intern_key key = hs_intern_hash(name, bytes);
    uint32_t count = candidates_of(names, frame, key, hashes, ret_answer);
    for (uint32_t i = 0; i < count; i++) {
        const struct hs_java_list *list = hs_intern_elem(
            &names->list_ids, names->lists, sizeof(*list), hs_intern_mix(key, hashes[i]));
        if (list && list->first > 0) {
            if (frame->has_line) {
                find_chain(names, list, frame, ret_answer);
            }
            return ret_answer->count > 0 ? 0 : join_names(names, list, ret_answer);
        }
    }
    return 0;
}

void hs_java_answer_deinit(struct hs_java_answer *answer)
{
    hs_buf_deinit(&answer->joined);
}
