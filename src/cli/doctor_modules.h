/*
 * What is the matter with the executable and its libraries, seen together: a line for each kind of lack, with
 * the modules that have it, and one line when none has.
 *
 * Threads   main thread only.
 * See       symbol/module_health.h
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/findings.h"
#include "symbol/module_health.h"

struct hs_doctor_module {
    char *path; /* as it is mapped; shown by its last part */
    int err;    /* why it could not be read */
    struct hs_module_health health;
};

struct hs_doctor_modules {
    struct hs_doctor_module *items;
    size_t count, capacity;
};

/* Looks at the module at `path`, once; it can be read as `file`. */
void hs_doctor_modules_add(struct hs_doctor_modules *modules, const char *path, const char *file);

bool hs_doctor_modules_has(const struct hs_doctor_modules *modules, const char *path);

void hs_doctor_modules_say(const struct hs_doctor_modules *modules, struct hs_findings *findings);

/* Appends to "a, b and 3 more": the number `idx` of `count` names. Cut where `text` ends. */
void hs_doctor_join(char *text, size_t text_bytes, const char *name, size_t idx, size_t count);

void hs_doctor_modules_deinit(struct hs_doctor_modules *modules);
