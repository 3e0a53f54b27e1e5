/*
 * Reads where modules were mapped in each process: the HsModules of its dumps.
 *
 * All processes with the same library share one mapping in the file, which has the addresses of the
 * first process.
 *
 * See       load_state.h; hs_profile_bias_of() reads the places
 */
#include "profile/read/load_state.h"

static void add_one(struct hs_load *load, const struct hs_interned *tables, uint32_t process,
                    const Hs__Pb__HsModules *from, size_t i)
{
    uint32_t module = hs_load_module(load, tables, from->mapping_iid[i]);
    if (module != UINT32_MAX) {
        hs_builder_place(load->builder, &(struct hs_profile_place){ .process = process,
                                                                    .module = module,
                                                                    .bias_va = from->bias_va[i] });
    }
}

void hs_load_places(struct hs_load *load, const struct hs_interned *tables, uint32_t process,
                    const Hs__Pb__HsModules *from)
{
    size_t count = from->n_mapping_iid;
    if (from->n_bias_va != count || from->n_unload_ns != count) {
        return; /* damaged */
    }
    /* The last place counts, so those that are still loaded are added last. */
    for (int is_loaded = 0; is_loaded < 2; is_loaded++) {
        for (size_t i = 0; i < count && load->err == 0; i++) {
            if ((from->unload_ns[i] == 0) == is_loaded) {
                add_one(load, tables, process, from, i);
            }
        }
    }
}
