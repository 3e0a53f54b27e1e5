/*
 * See runtimes.h.
 */
#include "profile/analyse/runtimes.h"

#include "profile/model/frame_class.h"
#include "profile/model/runtime_frames.h"

/* More languages than one process runs. */
#define LANGUAGES_MAX 8U

static const char *path_of(const struct hs_agg *agg, const struct hs_agg_function *function)
{
    const struct hs_profile *p = agg->profile;
    return function->module < p->module_count
               ? hs_profile_string(p, p->modules[function->module].path)
               : "";
}

/* The modules of functions that a runtime runs, one for each language. */
static uint32_t list_languages(const struct hs_agg *agg, uint32_t *ret_modules)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < agg->function_count; i++) {
        const struct hs_agg_function *function = &agg->functions[i];
        bool is_new = function->kind == HS_FRAME_KIND_INTERPRETED &&
                      function->module < agg->profile->module_count && count < LANGUAGES_MAX;
        for (uint32_t j = 0; j < count && is_new; j++) {
            is_new = ret_modules[j] != function->module;
        }
        if (is_new) {
            ret_modules[count++] = function->module;
        }
    }
    return count;
}

void hs_runtimes_mark(struct hs_agg *agg)
{
    const struct hs_profile *p = agg->profile;
    uint32_t languages[LANGUAGES_MAX];
    uint32_t count = list_languages(agg, languages);
    for (uint32_t i = 0; i < agg->function_count && count > 0; i++) {
        struct hs_agg_function *function = &agg->functions[i];
        if (function->kind == HS_FRAME_KIND_INTERPRETED &&
            hs_frame_is_of_script_library(path_of(agg, function),
                                          hs_profile_string(p, function->name),
                                          hs_profile_string(p, function->file))) {
            function->class_ = HS_FRAME_CLASS_LIBRARY;
        }
        bool is_candidate =
            function->class_ == HS_FRAME_CLASS_USER && function->kind != HS_FRAME_KIND_INTERPRETED;
        /* Code made at run time that is no function of the program: pieces of the runtime's own. */
        if (is_candidate && function->kind == HS_FRAME_KIND_JIT && function->name == 0) {
            function->class_ = HS_FRAME_CLASS_RUNTIME;
        }
        for (uint32_t j = 0; j < count && is_candidate; j++) {
            const char *language = hs_profile_string(p, p->modules[languages[j]].path);
            if (hs_frame_is_of_runtime(language, path_of(agg, function))) {
                function->class_ = HS_FRAME_CLASS_RUNTIME;
            }
        }
    }
}
