/*
 * Gives frames of obfuscated Java code their original names, and the methods that the obfuscator
 * inlined.
 *
 * Ensures   a frame that was renamed has lines: `function` is the original name, `system_name` the
 *           obfuscated one, which the frame keeps as its name as well. Frames that are known by
 *           symbols are left as they are.
 * Threads   one user, and no reader meanwhile.
 * Fails     -ENOMEM, -EOVERFLOW; the profile stays valid, and some frames may have their names.
 * See       deobfuscate/java_names.h
 */
#pragma once

#include "deobfuscate/java_names.h"
#include "deobfuscate/java_wanted.h"
#include "profile/model/profile.h"

/* Adds the names of all frames that could be obfuscated. */
int hs_original_names_wanted(const struct hs_profile *profile, struct hs_java_wanted *wanted);
/* Renames frames. *ret_count, which may be NULL: how many. */
int hs_original_names_apply(struct hs_profile *profile, const struct hs_java_names *names,
                            uint32_t *ret_count);
