/*
 * Opens mini debug info: the symbol table that Fedora and others pack into stripped files.
 *
 * The section .gnu_debugdata is an xz file that contains an ELF file. The .symtab of that file has
 * the functions that .dynsym lacks. It is unpacked into memory, up to a limit: a hundred bytes of
 * xz can stand for gigabytes.
 *
 * Threads   none.
 * Fails     -ENOENT: there is none; -ENOEXEC: it is broken or too large; -ENOMEM.
 */
#pragma once

#include "symbol/elf_file.h"

/* Opens the mini debug info of `file`. The caller closes *ret_mini. */
int hs_mini_debug_open(const struct hs_elf_file *file, struct hs_elf_file *ret_mini);
