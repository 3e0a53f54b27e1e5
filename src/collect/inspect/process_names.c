/*
 * Reads comm and cmdline: see process_names.h.
 */
#include "collect/inspect/process_names.h"

#include <stdlib.h>
#include <string.h>

#include "util/proc.h"

#define HS_CMDLINE_BYTES_MAX 65536

void hs_process_names_read(pid_t pid, struct hs_process_names *names)
{
    char text[64];
    size_t bytes;
    if (hs_proc_read(pid, "comm", text, sizeof(text), &bytes) == 0) {
        hs_proc_parse_comm(text, bytes, names->comm, sizeof(names->comm));
    }
    char *cmdline = malloc(HS_CMDLINE_BYTES_MAX);
    if (cmdline && hs_proc_read(pid, "cmdline", cmdline, HS_CMDLINE_BYTES_MAX, &bytes) == 0 &&
        bytes > 0) {
        char *shorter = realloc(cmdline, bytes);
        free(names->cmdline);
        names->cmdline = shorter ? shorter : cmdline;
        names->cmdline_bytes = (uint32_t)bytes;
    } else {
        free(cmdline);
    }
}

void hs_process_names_deinit(struct hs_process_names *names)
{
    free(names->cmdline);
    *names = (struct hs_process_names){ .cmdline = NULL };
}

void hs_process_names_apply(const struct hs_process_names *names, struct hs_snapshot *snap)
{
    if (names->comm[0] != '\0') {
        memcpy(snap->comm, names->comm, sizeof(snap->comm));
    }
    char *copy = names->cmdline ? malloc(names->cmdline_bytes) : NULL;
    if (copy) {
        memcpy(copy, names->cmdline, names->cmdline_bytes);
        free(snap->cmdline);
        snap->cmdline = copy;
        snap->cmdline_bytes = names->cmdline_bytes;
    }
}
