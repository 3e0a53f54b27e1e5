/*
 * A folder of Breakpad symbol files, and the names that they have for modules.
 *
 * As in Chrome's symbolizer, every file below the folder is opened, and the MODULE line of one says
 * which module it is about: the lower-cased name decides, wherever the file is and whatever its
 * name. Of several files of one name, the one with the wanted build id counts, else the first.
 *
 * Threads   one user.
 * Fails     -ENOMEM; -errno of opening the folder. A file that cannot be read is left out.
 */
#pragma once

#include <stddef.h>

#include "symbol/symbol_request.h"
#include "symbol/symbol_table.h"

struct hs_breakpad_file {
    char *path, *name; /* the name is lower-cased */
    char *code_id;     /* "": unknown; lower-cased */
};

/* Zero-initialized is empty. */
struct hs_breakpad_folder {
    struct hs_breakpad_file *files; /* in order of their paths */
    size_t count, capacity;
};

/* Adds all symbol files below a folder. */
int hs_breakpad_folder_add(struct hs_breakpad_folder *folder, const char *path);
/* Frees the memory. */
void hs_breakpad_folder_deinit(struct hs_breakpad_folder *folder);

/*
 * Looks the addresses of a request up. *ret_table has one span for each of them, and the caller
 * frees it with hs_symbol_table_deinit(). Its reason says why no file served:
 * HS_SYMBOL_REASON_FILE_MISSING or HS_SYMBOL_REASON_BUILD_ID_DIFFERS; its detail is the file.
 */
int hs_breakpad_folder_names(const struct hs_breakpad_folder *folder,
                             const struct hs_symbol_request *request,
                             struct hs_symbol_table *ret_table);
