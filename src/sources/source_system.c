/* Reads and writes the machine's memory and pressure: see sources.h. */
#include "sources/sources_state.h"

#define NS_PER_MS UINT64_C(1000000)

static bool read_meminfo(struct hs_sources *sources, uint64_t now_ns,
                         struct hs_meminfo *ret_changed)
{
    struct hs_meminfo now;
    int r = hs_meminfo_read(sources->folder, &now);
    if (r < 0) {
        sources->meminfo_next_ns = UINT64_MAX;
        hs_source_tell_unread(sources, 0, now_ns, "meminfo", r, &sources->is_meminfo_told);
        return false;
    }
    if (sources->settings.meminfo_mask != 0) {
        now.has_mask &= sources->settings.meminfo_mask;
    }
    *ret_changed = now;
    for (unsigned i = 0; i < HS_MEMINFO_N; i++) {
        bool is_known = (sources->meminfo.has_mask >> i & 1) != 0;
        if (is_known && now.values_bytes[i] == sources->meminfo.values_bytes[i]) {
            ret_changed->has_mask &= ~(UINT64_C(1) << i);
        }
    }
    sources->meminfo = now;
    return ret_changed->has_mask != 0;
}

static bool read_pressures(struct hs_sources *sources, uint64_t now_ns,
                           struct hs_pressures *ret_changed)
{
    struct hs_pressures now;
    int r = hs_pressure_read(sources->folder, &now);
    if (r < 0) {
        sources->psi_next_ns = UINT64_MAX;
        hs_source_tell_unread(sources, 0, now_ns, "pressure", -95, &sources->is_psi_told);
        return false;
    }
    *ret_changed = now;
    for (unsigned i = 0; i < HS_PRESSURE_N; i++) {
        bool is_known = (sources->pressures.has_mask >> i & 1) != 0;
        if (is_known && now.total_ns[i] == sources->pressures.total_ns[i]) {
            ret_changed->has_mask &= ~(UINT32_C(1) << i);
        }
    }
    sources->pressures = now;
    return ret_changed->has_mask != 0;
}

uint64_t hs_sources_turn(struct hs_sources *sources, uint64_t now_ns)
{
    struct hs_meminfo meminfo;
    struct hs_pressures pressures;
    if (!sources) {
        return UINT64_MAX;
    }
    bool has_meminfo = false, has_pressures = false;
    if (now_ns >= sources->meminfo_next_ns) {
        sources->meminfo_next_ns = now_ns + sources->settings.meminfo_ms * NS_PER_MS;
        has_meminfo = read_meminfo(sources, now_ns, &meminfo);
    }
    if (now_ns >= sources->psi_next_ns) {
        sources->psi_next_ns = now_ns + sources->settings.psi_ms * NS_PER_MS;
        has_pressures = read_pressures(sources, now_ns, &pressures);
    }
    if (has_meminfo || has_pressures) {
        hs_trace_writer_system(sources->writer, now_ns, has_meminfo ? &meminfo : NULL,
                               has_pressures ? &pressures : NULL);
        sources->packet_count++;
    }
    return sources->meminfo_next_ns < sources->psi_next_ns ? sources->meminfo_next_ns
                                                           : sources->psi_next_ns;
}
