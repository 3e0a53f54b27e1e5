/*
 * INCLUDE PERFETTO MODULE: the SQL modules that come with heapscope. Each runs once in a session.
 */
#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "rt/base.h"
#include "sql/language/session_state.h"
#include "util/suggest.h"

extern const char hs_sql_module_callstacks[];
extern const char hs_sql_module_intervals[];
extern const char hs_sql_module_stack_profile[];
extern const char hs_sql_module_summary_tree[];
extern const char hs_sql_module_symbolization_candidates[];

static const struct {
    const char *name;
    const char *text;    /* NULL: heapscope does not have this module */
    const char *refusal; /* why it does not */
} modules[] = {
    { "android.memory.heap_profile.callstacks", hs_sql_module_callstacks, NULL },
    { "android.memory.heap_profile.intervals", hs_sql_module_intervals, NULL },
    { "android.memory.heap_profile.summary_tree", hs_sql_module_summary_tree, NULL },
    { "callstacks.stack_profile", hs_sql_module_stack_profile, NULL },
    { "callstacks.symbolize", NULL,
      "a query does not look up names: the frames of a recorded file have names already, and those "
      "without are in stacks.symbolization_candidates" },
    { "stacks.symbolization_candidates", hs_sql_module_symbolization_candidates, NULL },
    { "time.conversion", "", NULL }, /* its functions always exist */
};
static_assert(HS_COUNT_OF(modules) <= HS_SQL_MODULE_COUNT_MAX, "is_included[] has room for all");

const char *hs_sql_module_name(size_t idx)
{
    for (size_t i = 0; i < HS_COUNT_OF(modules); i++) {
        if (modules[i].text && idx-- == 0) {
            return modules[i].name;
        }
    }
    return NULL;
}

const char *hs_sql_module_unread(const struct hs_sql *sql, size_t idx, const char **ret_name)
{
    if (idx >= HS_COUNT_OF(modules)) {
        return NULL;
    }
    *ret_name = modules[idx].name;
    return modules[idx].text && !sql->is_included[idx] ? modules[idx].text : "";
}

static int include_one(struct hs_sql *sql, const struct hs_sql_place *place, size_t name_off,
                       size_t idx, unsigned depth)
{
    if (sql->is_included[idx]) {
        return 0;
    }
    if (depth >= HS_SQL_INCLUDE_DEPTH) {
        return hs_sql_fail_at(sql, place, name_off, "modules include each other too deeply");
    }
    char origin[128];
    snprintf(origin, sizeof(origin), "module %s", modules[idx].name);
    sql->is_included[idx] = true;
    int err = hs_sql_run_script(sql, modules[idx].text, strlen(modules[idx].text), origin, NULL,
                                depth + 1);
    sql->is_included[idx] = err == 0;
    return err;
}

static int fail_unknown(struct hs_sql *sql, const struct hs_sql_place *place, size_t name_off,
                        const char *name)
{
    struct hs_buf list = { 0 };
    const char *names[HS_COUNT_OF(modules)] = { NULL };
    size_t count = 0;
    for (const char *known; (known = hs_sql_module_name(count)) != NULL; count++) {
        names[count] = known;
        hs_buf_printf(&list, "\n  %s", known);
    }
    const char *near = hs_suggest_nearest(name, names, count);
    int err = hs_sql_fail_at(sql, place, name_off, "there is no module %s%s%s%s", name,
                             near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    hs_buf_printf(&sql->error, "\nModules:%s", hs_buf_text(&list));
    hs_buf_deinit(&list);
    return err;
}

int hs_sql_include(struct hs_sql *sql, const struct hs_sql_place *place, size_t name_off,
                   const char *name, unsigned depth)
{
    bool is_pattern = strchr(name, '*') != NULL, is_found = false;
    for (size_t i = 0; i < HS_COUNT_OF(modules); i++) {
        bool is_meant = is_pattern ? modules[i].text && fnmatch(name, modules[i].name, 0) == 0
                                   : strcmp(name, modules[i].name) == 0;
        if (!is_meant) {
            continue;
        }
        if (!modules[i].text) {
            return hs_sql_fail_at(sql, place, name_off, "module %s does not exist here: %s", name,
                                  modules[i].refusal);
        }
        is_found = true;
        int err = include_one(sql, place, name_off, i, depth);
        if (err != 0) {
            return err;
        }
    }
    return is_found ? 0 : fail_unknown(sql, place, name_off, name);
}
