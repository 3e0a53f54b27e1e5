/*
 * The functions of a program as its file names them: .symtab, which is not in memory.
 *
 * Of the names, the caller takes what he wants. The file must be the one that the process runs: its program headers
 * are those in memory. Without a symbol table (strip), the file of debug information with the same build id is looked
 * for at the usual place, /usr/lib/debug/.build-id.
 *
 * Trust     file and memory are foreign: sizes are checked against caps and the file, nothing is mapped.
 * Threads   no state.
 * Fails     false: there are no symbols.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/remote_memory.h"
#include "inject/remote_objects.h"

/* Of one function that is defined there. `sva`: as the file says; the run-time address is so much more. */
typedef void hs_symbol_file_fn(void *ctx, const char *name, uint64_t sva, uint64_t size_bytes,
                               unsigned type);

/* All functions of .symtab in the open file. False: it has none, or makes no sense. */
bool hs_symbol_file_read(int fd, hs_symbol_file_fn *take, void *ctx);

/* Are the program headers in the file those that are mapped? */
bool hs_symbol_file_is_program(int fd, const struct hs_remote_memory *memory, uint64_t bias_va);

/* The build id, by the file's notes: its length; 0: none. */
size_t hs_symbol_file_build_id(int fd, uint8_t ret_id[64]);

/* Of the process's program, wherever its symbols are. */
bool hs_symbol_file_read_program(pid_t pid, const struct hs_remote_memory *memory,
                                 const struct hs_remote_object *program, hs_symbol_file_fn *take,
                                 void *ctx);
