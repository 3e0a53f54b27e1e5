/*
 * What is left to do when a reader has added everything: frames get their names, and stacks lose
 * the frames of the recorder; then the primary heaps are counted. See builder.h.
 */
#include "profile/model/builder.h"
#include "profile/model/builder_state.h"
#include "profile/model/cut_stacks.h"
#include "profile/model/profiler_frames.h"
#include "rt/check.h"

/* Gives frames their names. */
static void apply_symbols(struct hs_builder *builder)
{
    struct hs_profile *p = builder->p;
    uint32_t id;
    if (builder->symbol_modules.count == 0) {
        return;
    }
    for (uint32_t i = 0; i < p->module_count; i++) {
        struct hs_profile_module *module = &p->modules[i];
        module->is_symbolized = hs_intern_find(
            &builder->symbol_modules,
            hs_builder_module_key(module->path, module->build_id, module->build_id_bytes), &id);
    }
    for (uint32_t i = 0; i < p->frame_count; i++) {
        struct hs_profile_frame *frame = &p->frames[i];
        const struct hs_profile_module *module =
            frame->module < p->module_count ? &p->modules[frame->module] : NULL;
        /* The name of code made at run time is that of the time when it ran. */
        bool is_named_jit = frame->kind == HS_FRAME_KIND_JIT && frame->name != 0;
        if (!module || !module->is_symbolized || is_named_jit) {
            continue;
        }
        struct hs_intern_key key =
            hs_builder_module_key(module->path, module->build_id, module->build_id_bytes);
        if (hs_intern_find(&builder->symbols, hs_intern_mix(key, frame->rel_pc), &id) &&
            builder->symbol_lines[id].line_count > 0) {
            frame->line_first = builder->symbol_lines[id].line_first;
            frame->line_count = builder->symbol_lines[id].line_count;
        }
    }
}

/* Gives modules the reason why addresses of them have no name. */
static void apply_nameless(struct hs_builder *builder)
{
    struct hs_profile *p = builder->p;
    uint32_t id;
    for (uint32_t i = 0; builder->nameless_ids.count > 0 && i < p->module_count; i++) {
        struct hs_profile_module *module = &p->modules[i];
        if (hs_intern_find(
                &builder->nameless_ids,
                hs_builder_module_key(module->path, module->build_id, module->build_id_bytes),
                &id)) {
            const struct hs_profile_nameless *last = &p->nameless[builder->nameless_last[id]];
            module->nameless_reason = last->reason;
            module->nameless_detail = last->detail;
        }
    }
}

int hs_builder_finish(struct hs_builder *builder, struct hs_profile **ret_profile)
{
    if (builder->err != 0) {
        return builder->err;
    }
    HS_ASSERT_SLOW(hs_builder_is_valid(builder));
    apply_symbols(builder);
    apply_nameless(builder);
    hs_builder_tidy_places(builder);
    builder->err = hs_profile_leave_out_profiler(builder->p);
    int err = builder->err == 0 ? hs_profile_count_cut_stacks(builder) : 0;
    err = builder->err == 0 && err == 0 ? hs_builder_settle_heaps(builder) : err;
    builder->err = builder->err == 0 ? err : builder->err;
    if (builder->err != 0) {
        return builder->err;
    }
    HS_ASSERT_SLOW(hs_profile_is_valid(builder->p));
    *ret_profile = builder->p;
    builder->p = NULL;
    return 0;
}
