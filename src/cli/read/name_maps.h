/*
 * Maps of R8 and ProGuard that the user named: reads them, for the names of obfuscated Java code in
 * a profile, or as packets for its file.
 *
 *     struct hs_map_list maps = { 0 };
 *     int status = hs_name_maps_of_environment(&maps);       PERFETTO_PROGUARD_MAP
 *     hs_name_maps_of_options(&spec, &args.maps, &maps);     --proguard-map
 *     hs_name_maps_write(&maps, profile, false, &out, &written);
 *     hs_map_list_deinit(&maps);
 *
 * Threads   main thread only.
 * Fails     functions with a status return 0, or the exit status after a message.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/args.h"
#include "deobfuscate/map_list.h"
#include "profile/model/profile.h"
#include "util/buf.h"

/* True: PERFETTO_PROGUARD_MAP names maps. */
bool hs_name_maps_are_in_environment(void);
/* Adds the maps of PERFETTO_PROGUARD_MAP, if there are any. */
int hs_name_maps_of_environment(struct hs_map_list *maps);

/* Adds the maps of the option --proguard-map. */
int hs_name_maps_of_options(const struct hs_opts_spec *spec, const struct hs_opt_list *given,
                            struct hs_map_list *maps);

/* Gives the profile the names of the maps in the environment. A map that cannot be read is named in
 * a message; the profile then lacks its names. */
void hs_name_maps_apply(struct hs_profile *profile);

/* What was written. */
struct hs_name_maps_written {
    uint64_t class_count, member_count;
};

/* Writes packets with the names of the maps: those of the profile's frames, or all with is_all.
 * `out` may have something of a map that cannot be read. */
int hs_name_maps_write(const struct hs_map_list *maps, const struct hs_profile *profile,
                       bool is_all, struct hs_buf *out, struct hs_name_maps_written *ret_written);
