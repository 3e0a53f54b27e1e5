/*
 * Where modules were mapped in each process: HsModules of its dumps.
 *
 * Mappings of the file are shared by all processes that have the same library, and have the addresses of the first one.
 *
 * See       load_state.h; hs_profile_bias_of() reads them
 */
#include "profile/load_state.h"

static void add_one(struct hs_load *load, struct hs_load_tables *tables, uint32_t process,
                    const Hs__Pb__HsModules *from, size_t i)
{
    uint32_t module = hs_load_module(load, tables, from->mapping_iid[i]);
    if (module != UINT32_MAX) {
        hs_builder_place(load->builder, &(struct hs_profile_place){ .process = process,
                                                                    .module = module,
                                                                    .bias_va = from->bias_va[i] });
    }
}

void hs_load_places(struct hs_load *load, struct hs_load_tables *tables, uint32_t process,
                    const Hs__Pb__HsModules *from)
{
    size_t count = from->n_mapping_iid;
    if (from->n_bias_va != count || from->n_unload_ns != count) {
        return; /* damaged */
    }
    /* The last one counts: one that is still loaded. */
    for (int is_loaded = 0; is_loaded < 2; is_loaded++) {
        for (size_t i = 0; i < count && load->err == 0; i++) {
            if ((from->unload_ns[i] == 0) == is_loaded) {
                add_one(load, tables, process, from, i);
            }
        }
    }
}
