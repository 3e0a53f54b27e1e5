/*
 * Fuzz target: any bytes as a map of R8 or ProGuard, as a list of maps, and as names of frames.
 *
 * Holds     a class comes before its members; names are not empty and are inside the input; the
 *           map read from a file is the same as the one in memory; answers have names.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "deobfuscate/map_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    const char *from, *to; /* NULL: the texts are in a buffer of the parser */
    uint64_t class_count, member_count;
    struct hs_java_names *names;
    char class_name[256];
};

static void check_text(const struct seen *seen, struct hs_proguard_text text)
{
    check(text.bytes > 0 && !memchr(text.at, ' ', text.bytes));
    check(!seen->from || (text.at >= seen->from && text.at + text.bytes <= seen->to));
}

static int take_class(void *ctx, struct hs_proguard_text original,
                      struct hs_proguard_text obfuscated)
{
    struct seen *seen = ctx;
    check_text(seen, original);
    check_text(seen, obfuscated);
    size_t bytes = obfuscated.bytes < sizeof(seen->class_name) ? obfuscated.bytes
                                                               : sizeof(seen->class_name) - 1;
    memcpy(seen->class_name, obfuscated.at, bytes);
    seen->class_name[bytes] = '\0';
    seen->class_count++;
    return 0;
}

static int take_member(void *ctx, const struct hs_proguard_member *member)
{
    struct seen *seen = ctx;
    check_text(seen, member->original);
    check_text(seen, member->obfuscated);
    check(seen->class_count > 0 && member->line_first <= member->line_last);
    seen->member_count++;
    if (seen->names) {
        char *original = strndup(member->original.at, member->original.bytes);
        char *obfuscated = strndup(member->obfuscated.at, member->obfuscated.bytes);
        const struct hs_java_method method = {
            .original = original,
            .obfuscated = obfuscated,
            .has_lines = member->has_lines,
            .has_source = member->has_lines,
            .has_source_last = true,
            .line_first = member->line_first,
            .line_last = member->line_last,
            .source_first = member->source_first,
            .source_last = member->source_last,
        };
        check(original && obfuscated &&
              hs_java_names_add(seen->names, "", seen->class_name, "org.Original", &method) == 0);
        free(original);
        free(obfuscated);
    }
    return 0;
}

static void find(const struct hs_java_names *names, const char *text)
{
    for (uint32_t line = 0; line < 40; line += 7) {
        const struct hs_java_frame frame = {
            .name = text, .path = text, .has_line = line > 0, .line = line
        };
        struct hs_java_answer answer;
        check(hs_java_names_find(names, &frame, &answer) == 0);
        for (uint32_t i = 0; i < answer.count; i++) {
            check(answer.lines[i].name[0] != '\0');
        }
        hs_java_answer_deinit(&answer);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct hs_java_names names = { 0 };
    struct seen memory = { .from = text, .to = text + size, .names = &names }, file = { 0 };
    struct hs_proguard_sink sink = { &memory, take_class, take_member };
    struct hs_proguard_error memory_error, file_error;
    int in_memory = hs_proguard_map_parse(text, size, &sink, &memory_error);
    int fd = memfd_create("map", MFD_CLOEXEC);
    check(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    sink.ctx = &file;
    check(hs_proguard_map_read(fd, &sink, &file_error) == in_memory);
    close(fd);
    check(memory.class_count == file.class_count && memory.member_count == file.member_count &&
          memory_error.line == file_error.line && (in_memory == 0) == (memory_error.line == 0));
    char *line = strndup(text, size);
    check(line != NULL);
    find(&names, memory.class_name);
    find(&names, line);
    struct hs_map_list list = { 0 };
    int err = hs_map_list_add_all(&list, line);
    check(err == 0 || list.count < size);
    hs_map_list_deinit(&list);
    free(line);
    hs_java_names_deinit(&names);
    return 0;
}
