/*
 * Which functions belong to an interpreter or a virtual machine, and which to the standard library
 * of the language that it runs.
 *
 * Such functions have modules of their own in a trace, "[python]" or "/[java]". `language` is the
 * path of such a module; folders in it do not count.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>

/* True for a module that runs functions of the language, by its file name. */
bool hs_frame_is_of_runtime(const char *language, const char *module_path);

/* True for a function of the language's standard library, by its name and source file. */
bool hs_frame_is_of_script_library(const char *language, const char *name, const char *file);
