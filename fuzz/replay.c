/*
 * Runs a fuzz target over stored inputs instead of generated ones, so that the tests retry every
 * input that ever broke a parser or reached new code.
 *
 * Arguments: ARCHIVE FOLDER. The archive (see archive.h) has what fuzzing found, and must have at
 * least one input. The folder has inputs that people wrote or kept, one a file, and may be missing.
 * The empty input is always run too. Prints how many inputs were run; fails if the archive is
 * missing, damaged or empty, or if a file cannot be read.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *path, const char *why)
{
    fprintf(stderr, "replay: %s: %s\n", path, why);
    exit(1);
}

/* In a block of its own size, so that a sanitizer sees what reads behind its end. */
static void run_input(const uint8_t *data, size_t len_bytes)
{
    uint8_t *copy = malloc(len_bytes > 0 ? len_bytes : 1);
    if (!copy) {
        fail("an input", strerror(errno));
    }
    memcpy(copy, data, len_bytes);
    LLVMFuzzerTestOneInput(copy, len_bytes);
    free(copy);
}

/* Returns the file's bytes, which the caller frees. */
static char *read_whole(const char *path, size_t *ret_bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        fail(path, strerror(errno));
    }
    size_t cap = 1U << 16, len = 0, got;
    char *data = malloc(cap);
    while (data && (got = fread(data + len, 1, cap - len, file)) > 0) {
        len += got;
        if (len == cap) {
            cap *= 2;
            char *bigger = realloc(data, cap);
            if (!bigger) {
                free(data);
            }
            data = bigger;
        }
    }
    if (!data || ferror(file)) {
        fail(path, strerror(errno));
    }
    fclose(file);
    *ret_bytes = len;
    return data;
}

static long run_archive(const char *path)
{
    size_t len;
    char *text = read_whole(path, &len);
    long n = hs_archive_replay(text, len, run_input);
    if (n < 0) {
        fail(path, "damaged or empty: see fuzz/archive.h");
    }
    free(text);
    return n;
}

static long run_folder(const char *path)
{
    struct dirent **names;
    int n = scandir(path, &names, NULL, alphasort);
    if (n < 0 && errno != ENOENT) {
        fail(path, strerror(errno));
    }
    long count = 0;
    for (int i = 0; i < n; i++) {
        char child[4096];
        if (names[i]->d_name[0] != '.') {
            snprintf(child, sizeof(child), "%s/%s", path, names[i]->d_name);
            size_t len;
            char *data = read_whole(child, &len);
            run_input((const uint8_t *)data, len);
            free(data);
            count++;
        }
        free(names[i]);
    }
    if (n >= 0) {
        free(names);
    }
    return count;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "Usage: %s ARCHIVE FOLDER\n", argv[0]);
        return 2;
    }
    long found = run_archive(argv[1]);
    long kept = run_folder(argv[2]);
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    printf("%ld inputs replayed: %ld of the archive, %ld of the folder, and the empty one\n",
           found + kept + 1, found, kept);
    return 0;
}
