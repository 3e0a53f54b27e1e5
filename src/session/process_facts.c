/*
 * Reads the facts about a process: see process_facts.h.
 */
#include "session/process_facts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void set_pointers(struct hs_process_facts *facts)
{
    facts->facts.cmdline = facts->cmdline;
    facts->facts.comm = facts->comm;
}

int hs_process_facts_read(pid_t pid, struct hs_process_facts *ret_facts)
{
    struct hs_process_facts *out = ret_facts;
    struct hs_proc_status status = { 0 };
    struct stat st;
    char path[32], comm[64];
    size_t comm_bytes = 0;
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    if (stat(path, &st) != 0) {
        return -errno;
    }
    *out = (struct hs_process_facts){ .facts = { .pid = pid, .uid = st.st_uid } };
    int r =
        hs_proc_read(pid, "cmdline", out->cmdline, sizeof(out->cmdline), &out->facts.cmdline_bytes);
    if (r == 0) {
        r = hs_proc_read(pid, "comm", comm, sizeof(comm), &comm_bytes);
    }
    if (r == 0) {
        r = hs_proc_read_status(pid, &status);
    }
    if (r < 0) {
        return r;
    }
    hs_proc_parse_comm(comm, comm_bytes, out->comm, sizeof(out->comm));
    out->facts.anon_bytes = status.rss_anon_bytes + status.vm_swap_bytes;
    set_pointers(out);
    return 0;
}

void hs_process_facts_of_target(const struct hs_target *target, struct hs_process_facts *ret_facts)
{
    struct hs_process_facts *out = ret_facts;
    const struct hs_region_header_v2 *header = &target->region.header;
    if (target->process.pid <= 0 || target->process.has_ended ||
        hs_process_facts_read(target->process.pid, out) < 0 || out->facts.cmdline_bytes == 0) {
        *out = (struct hs_process_facts){ .facts.pid = target->process.pid };
        size_t bytes = header->cmdline_bytes < sizeof(out->cmdline) ? header->cmdline_bytes
                                                                    : sizeof(out->cmdline);
        if (hs_region_read(&target->region, HS_SECTION_BYTES, header->cmdline_off, bytes,
                           out->cmdline) == 0) {
            out->facts.cmdline_bytes = bytes;
        }
        memcpy(out->comm, header->comm, sizeof(out->comm));
        out->comm[sizeof(out->comm) - 1] = '\0';
    }
    out->facts.uid = target->process.uid;
    set_pointers(out);
}
