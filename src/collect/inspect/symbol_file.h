/*
 * The symbols of a program as its file names them: .symtab, which is not loaded into memory.
 *
 * The caller gets every name and keeps those that it wants. The file must be the one that the
 * process runs: its program headers must equal those in memory. Without a symbol table (strip), the
 * debug file with the same build id is searched at the usual place, /usr/lib/debug/.build-id.
 *
 * Trust     file and memory are foreign: sizes are checked against limits and the file, nothing is
 *           mapped.
 * Threads   no state.
 * Fails     false: there are no symbols.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/remote/remote_memory.h"
#include "inject/remote/remote_objects.h"

/* Called for one symbol that the file defines. `sva`: its address in the file; the run-time
 * address is larger by the program's bias. */
typedef void hs_symbol_file_fn(void *ctx, const char *name, uint64_t sva, uint64_t size_bytes,
                               unsigned type);

/* Calls `take` for all functions of .symtab in the open file. False: there is no such table, or it
 * makes no sense. */
bool hs_symbol_file_read(int fd, hs_symbol_file_fn *take, void *ctx);

/* The same for all objects (data) of the table of type `table_type`: SHT_SYMTAB or SHT_DYNSYM. */
bool hs_symbol_file_read_objects(int fd, uint32_t table_type, hs_symbol_file_fn *take, void *ctx);

/* Are the program headers in the file equal to those in the process's memory? */
bool hs_symbol_file_is_program(int fd, const struct hs_remote_memory *memory, uint64_t bias_va);

/* Reads the build id from the file's notes. Returns its length in bytes; 0: none. */
size_t hs_symbol_file_build_id(int fd, uint8_t ret_id[64]);

/* Opens the debug file with the build id of the open file. Returns the descriptor; -1: there is
 * none. */
int hs_symbol_file_open_debug(int program_fd);

/* Calls `take` for all functions of a process's program, from its file or from its debug file. */
bool hs_symbol_file_read_program(pid_t pid, const struct hs_remote_memory *memory,
                                 const struct hs_remote_object *program, hs_symbol_file_fn *take,
                                 void *ctx);
