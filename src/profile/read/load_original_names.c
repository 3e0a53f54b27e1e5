/*
 * DeobfuscationMapping and PackagesList: the names that classes and methods had before an
 * obfuscator renamed them, and which Android applications the user of a process can run.
 *
 * They may be anywhere in the file: `heapscope deobfuscate` writes the first ones to be appended.
 *
 * See       load_state.h, deobfuscate/java_names.h
 */
#include <errno.h>
#include <stdlib.h>

#include "deobfuscate/mapping_packet.h"
#include "profile/model/original_names.h"
#include "profile/read/load_state.h"
#include "util/array.h"

#define ANDROID_USER_UIDS 100000

struct package {
    uint32_t name; /* string id */
    uint64_t app_id;
};

struct hs_load_original_names {
    struct hs_java_names names;
    struct package *packages;
    size_t package_count, package_capacity;
};

static int add_packages(struct hs_load *load, const Hs__Pb__PackagesList *list)
{
    struct hs_load_original_names *own = load->original_names;
    int err = 0;
    for (size_t i = 0; i < list->n_packages && err == 0; i++) {
        const Hs__Pb__PackagesList__PackageInfo *from = list->packages[i];
        err = hs_array_reserve(&own->packages, &own->package_capacity, own->package_count + 1,
                               sizeof(own->packages[0]));
        if (err == 0 && from->name) {
            own->packages[own->package_count++] =
                (struct package){ .name = hs_builder_string(load->builder, from->name),
                                  .app_id = from->uid % ANDROID_USER_UIDS };
        }
    }
    return err;
}

void hs_load_original_names(struct hs_load *load, const Hs__Pb__TracePacket *packet)
{
    if (!load->original_names) {
        load->original_names = calloc(1, sizeof(*load->original_names));
    }
    int err = load->original_names ? 0 : -ENOMEM;
    if (err == 0 && packet->deobfuscation_mapping) {
        err = hs_mapping_packet_read(packet->deobfuscation_mapping, &load->original_names->names);
    }
    if (err == 0 && packet->packages_list) {
        err = add_packages(load, packet->packages_list);
    }
    load->err = load->err ? load->err : err;
}

/* The packages of a user, with colons between. */
static uint32_t packages_of(struct hs_load *load, uint32_t uid)
{
    const struct hs_load_original_names *own = load->original_names;
    struct hs_buf text = HS_BUF_INIT;
    for (size_t i = 0; i < own->package_count; i++) {
        if (own->packages[i].app_id == uid % ANDROID_USER_UIDS) {
            hs_buf_str(&text, text.bytes > 0 ? ":" : "");
            hs_buf_str(&text, hs_builder_text(load->builder, own->packages[i].name));
        }
    }
    uint32_t id = hs_builder_string(load->builder, hs_buf_text(&text));
    load->err = load->err ? load->err : text.err;
    hs_buf_deinit(&text);
    return id;
}

void hs_load_packages_finish(struct hs_load *load)
{
    struct hs_profile_process *process;
    if (!load->original_names || load->original_names->package_count == 0) {
        return;
    }
    for (uint32_t i = 0; (process = hs_builder_process_at(load->builder, i)) != NULL; i++) {
        const struct hs_load_pid *pid = hs_load_pid(load, process->pid);
        if (pid && pid->has_uid) {
            process->packages = packages_of(load, pid->uid);
        }
    }
}

int hs_load_original_names_finish(struct hs_load *load, struct hs_profile *profile)
{
    return load->original_names
               ? hs_original_names_apply(profile, &load->original_names->names, NULL)
               : 0;
}

void hs_load_original_names_deinit(struct hs_load *load)
{
    if (load->original_names) {
        hs_java_names_deinit(&load->original_names->names);
        free(load->original_names->packages);
        free(load->original_names);
    }
}
