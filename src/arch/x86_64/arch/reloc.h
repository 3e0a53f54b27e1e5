/*
 * Which relocations store the address of a function in a word of memory.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

/* Does the relocation set a word that calls go through, or that holds the function's address for
 * other uses? */
static inline bool hs_arch_is_function_slot(uint64_t info)
{
    uint32_t type = ELF64_R_TYPE(info);
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}
