/*
 * Runs a fuzz target over files instead of generated input, so that the tests retry every input
 * that ever broke a parser.
 *
 * Arguments are files or folders of files; a folder that does not exist counts as empty. Prints how
 * many inputs were run.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long run_count;

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    size_t cap = 1U << 20, len = 0, got;
    uint8_t *data = malloc(cap);
    while (data && (got = fread(data + len, 1, cap - len, file)) > 0) {
        len += got;
        if (len == cap) {
            cap *= 2;
            uint8_t *bigger = realloc(data, cap);
            if (!bigger) {
                break;
            }
            data = bigger;
        }
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, len);
    free(data);
    run_count++;
}

static void run_folder(const char *path)
{
    struct dirent **names;
    int n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char child[4096];
        if (names[i]->d_name[0] != '.') {
            snprintf(child, sizeof(child), "%s/%s", path, names[i]->d_name);
            run_file(child);
        }
        free(names[i]);
    }
    if (n >= 0) {
        free(names);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) != 0) {
            continue;
        }
        if (S_ISDIR(st.st_mode)) {
            run_folder(argv[i]);
        } else {
            run_file(argv[i]);
        }
    }
    /* The empty input is always part of the corpus. */
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    printf("%lu inputs replayed\n", run_count + 1);
    return 0;
}
