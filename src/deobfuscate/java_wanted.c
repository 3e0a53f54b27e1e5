/*
 * A set of methods. See java_wanted.h.
 */
#include "deobfuscate/java_wanted.h"

#include "deobfuscate/java_names.h"

void hs_java_wanted_deinit(struct hs_java_wanted *wanted)
{
    hs_intern_deinit(&wanted->methods);
}

int hs_java_wanted_add(struct hs_java_wanted *wanted, const char *frame_name)
{
    size_t bytes;
    const char *method = hs_java_name_key(frame_name, &bytes);
    uint32_t id;
    bool is_new;
    return bytes > 0 ? hs_intern_put(&wanted->methods, hs_intern_hash(method, bytes), &id, &is_new)
                     : 0;
}

bool hs_java_wanted_has(const struct hs_java_wanted *wanted, const char *method, size_t bytes)
{
    uint32_t id;
    return hs_intern_find(&wanted->methods, hs_intern_hash(method, bytes), &id);
}
