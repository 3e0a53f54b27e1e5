/*
 * See diff_internal.h.
 */
#include "profile/analyse/diff_internal.h"

#include <string.h>

#include "profile/analyse/select.h"
#include "profile/model/describe.h"
#include "util/buf.h"

/* True when all of the text is a version, as in "-1.2.13". */
static bool is_version(const char *text, size_t bytes)
{
    if (bytes < 2 || text[0] != '-' || text[1] < '0' || text[1] > '9') {
        return false;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] < '0' || text[i] > '9') && text[i] != '.') {
            return false;
        }
    }
    return true;
}

/* True for the module that every selected process, or the only one, runs as its program. */
static bool is_program(const struct hs_selection *selection, uint32_t module)
{
    const struct hs_profile *p = selection->profile;
    const char *path = hs_profile_string(p, p->modules[module].path);
    for (uint32_t i = 0; i < selection->dump_count; i++) {
        uint32_t process = p->dumps[selection->dumps[i]].process;
        if (strcmp(hs_profile_string(p, p->processes[process].exe), path) != 0) {
            return false;
        }
    }
    return selection->dump_count > 0;
}

void hs_diff_write_module(const struct hs_selection *selection, uint32_t module, struct hs_buf *buf)
{
    if (module >= selection->profile->module_count || is_program(selection, module)) {
        return;
    }
    const char *name = hs_describe_module(selection->profile, module);
    const char *end = strstr(name, ".so.");
    size_t bytes = end ? (size_t)(end - name) + 3 : strlen(name);
    bool is_library = bytes > 3 && memcmp(name + bytes - 3, ".so", 3) == 0;
    size_t stem_bytes = is_library ? bytes - 3 : bytes;
    for (size_t i = 1; i < stem_bytes && is_library; i++) {
        if (is_version(name + i, stem_bytes - i)) {
            stem_bytes = i;
        }
    }
    hs_buf_add(buf, name, stem_bytes);
    hs_buf_str(buf, is_library ? ".so" : "");
}
