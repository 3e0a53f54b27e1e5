/*
 * What is wrong with the executable and its libraries, taken together: one line for each kind of
 * defect, with the modules that have it, and one line when no module has it.
 *
 * Threads   main thread only.
 * See       symbol/module_health.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/doctor/findings.h"
#include "symbol/module_health.h"

struct hs_doctor_module {
    char *path; /* as it is mapped; the findings show its last part */
    int err;    /* 0; else why it was not read: -errno, or above 0: another build is in its place */
    struct hs_module_health health;
};

struct hs_doctor_modules {
    struct hs_doctor_module *items;
    size_t count, capacity;
};

/* Examines the module at `path`, once; its bytes are read from `file`. */
void hs_doctor_modules_add(struct hs_doctor_modules *modules, const char *path, const char *file);

/* True: the module at `path` was added. */
bool hs_doctor_modules_has(const struct hs_doctor_modules *modules, const char *path);

/* Adds the findings about all modules. */
void hs_doctor_modules_say(const struct hs_doctor_modules *modules, struct hs_findings *findings);

/* Appends name number `idx` of `count` to a list "a, b and 3 more". Cuts it at `text_bytes`. */
void hs_doctor_join(char *text, size_t text_bytes, const char *name, size_t idx, size_t count);

/* Frees the modules. */
void hs_doctor_modules_deinit(struct hs_doctor_modules *modules);
