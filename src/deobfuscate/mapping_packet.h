/*
 * DeobfuscationMapping packets of a trace: written from maps, and read into a table of names.
 *
 *     struct hs_mapping_writer writer = { .out = &out, .package = "org.app" };
 *     hs_map_file_read(file, wanted, &sink of hs_mapping_writer_sink(&writer), &error);
 *     hs_mapping_writer_finish(&writer);
 *
 * The packets stand alone, so that they can be appended to any trace. Readers combine the packets
 * of one package. Those for classes that a profile does not name are of no use to its readers.
 *
 * Threads   one user.
 * Fails     -ENOMEM, errors of `out`
 * See       docs/FORMAT.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "deobfuscate/java_names.h"
#include "deobfuscate/proguard_map.h"
#include "trace/proto/perfetto.pb-c.h"
#include "util/buf.h"

struct hs_mapping_writer {
    struct hs_buf *out;
    const char *package;
    uint64_t class_count, member_count; /* written */
    /* private */
    struct hs_buf body;    /* of the packet: its classes */
    struct hs_buf members; /* of the last class */
    struct hs_buf original, obfuscated;
    struct hs_buf member;
    bool has_class;
};

/* A sink that writes what it gets. */
struct hs_proguard_sink hs_mapping_writer_sink(struct hs_mapping_writer *writer);
/* Writes what is left, and frees the writer's memory. 0 or an error. */
int hs_mapping_writer_finish(struct hs_mapping_writer *writer);

/* Adds the methods of a packet to the table. */
int hs_mapping_packet_read(const Hs__Pb__DeobfuscationMapping *mapping,
                           struct hs_java_names *names);
