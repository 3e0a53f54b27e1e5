/*
 * Fuzz target: an untrusted line number program. The input also serves as the text section that it
 * points into.
 *
 * Holds     a row that is found begins at or before its address, and not below the code; names are
 *           terminated.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/line_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CODE_SVA 0x1000U
#define PC_COUNT 256U

/* Counts the bytes of names, so that the compiler must read each name to its end. */
static volatile size_t text_bytes;

static void check(struct hs_line_program *program)
{
    uint64_t pcs[PC_COUNT];
    struct hs_line_row rows[PC_COUNT];
    for (unsigned i = 0; i < PC_COUNT; i++) {
        pcs[i] = i == PC_COUNT - 1 ? UINT64_MAX : 0x800 + i * 0x29;
    }
    if (hs_line_program_find(program, CODE_SVA, pcs, PC_COUNT, rows) != 0) {
        return;
    }
    for (unsigned i = 0; i < PC_COUNT; i++) {
        const char *folder, *name;
        if (!rows[i].is_found) {
            continue;
        }
        if (rows[i].sva > pcs[i] || rows[i].sva < CODE_SVA) {
            abort();
        }
        if (hs_line_program_file(program, rows[i].file_idx, &folder, &name)) {
            text_bytes += strlen(name) + (folder ? strlen(folder) : 0);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1); /* of the exact size, to detect reads behind it */
    struct hs_line_program program;
    if (copy) {
        memcpy(copy, data, size);
        const struct hs_line_sections sections = { { copy, size }, { copy, size }, { copy, size } };
        if (hs_line_program_open(&sections, 0, &program) == 0) {
            check(&program);
            hs_line_program_close(&program);
        }
    }
    free(copy);
    return 0;
}
