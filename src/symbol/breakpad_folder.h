/*
 * A folder of Breakpad symbol files, and the names that they have for modules.
 *
 * As in Chrome's symbolizer, every file below the folder is opened, and the MODULE line of one says
 * which module it is about: the lower-cased name decides, wherever the file is and whatever its
 * name. The build id decides between several files of one name: it is in INFO CODE_ID, else the id
 * in the MODULE line is made of it. Only where a file or the trace has none, the first file counts.
 *
 * Threads   one user.
 * Fails     -ENOMEM; -errno of opening the folder. A file that cannot be read is left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "symbol/symbol_request.h"
#include "symbol/symbol_table.h"

struct hs_breakpad_file {
    char *path, *name; /* the name is lower-cased */
    char *code_id;     /* "": unknown; lower-cased */
    char *module_id;   /* lower-cased */
};

/* Zero-initialized is empty. */
struct hs_breakpad_folder {
    struct hs_breakpad_file *files; /* in order of their paths */
    size_t count, capacity;
};

struct hs_symbol_builder;

/* Adds all symbol files below a folder. */
int hs_breakpad_folder_add(struct hs_breakpad_folder *folder, const char *path);
/* Frees the memory. */
void hs_breakpad_folder_deinit(struct hs_breakpad_folder *folder);

/* The symbol file of a module. NULL: there is none, and *ret_other is one of another build, or
 * NULL. */
const struct hs_breakpad_file *hs_breakpad_folder_find(const struct hs_breakpad_folder *folder,
                                                       const char *path, const uint8_t *build_id,
                                                       size_t build_id_bytes,
                                                       const struct hs_breakpad_file **ret_other);

/* Which symbol file was used for a module, or could have been. */
struct hs_breakpad_used {
    char *path;    /* NULL: there is none. The caller frees it. */
    bool is_other; /* it is of another build, and was not used */
};

/*
 * Adds the names that the symbol files in options->breakpad_paths have for the builder's addresses.
 * `base_sva` is the lowest link-time address of the module. The folders are read at the first call
 * of a process. 0 or -ENOMEM.
 */
int hs_breakpad_names_of(const struct hs_symbol_options *options,
                         const struct hs_symbol_request *request, uint64_t base_sva,
                         struct hs_symbol_builder *builder, struct hs_breakpad_used *ret_used);
