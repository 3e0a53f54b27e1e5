/*
 * Mini debug info: the symbol table that Fedora and others pack into stripped files.
 *
 * The section .gnu_debugdata is an xz file, and that is an ELF file with a .symtab of the functions
 * that .dynsym lacks. It is unpacked into memory, up to a limit: a hundred bytes of xz can
 * stand for gigabytes.
 *
 * Threads   none.
 * Fails     -ENOENT there is none; -ENOEXEC it is broken or too large; -ENOMEM.
 */
#pragma once

#include "symbol/elf_file.h"

int hs_mini_debug_open(const struct hs_elf_file *file, struct hs_elf_file *ret_mini);
