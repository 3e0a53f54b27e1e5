/*
 * Writes the tables of names and the call tree: see page_tree.h.
 */
#include "page/page_column.h"
#include "page/page_tree.h"
#include "rt/base.h"
#include "util/json.h"

/* Modules, functions, frames and nodes have columns of these kinds. */
struct column {
    const char *key;
    hs_page_value_fn *value;
};

static void write_table(struct hs_json *json, const char *key, uint32_t count, const void *ctx,
                        const struct column *columns, size_t column_count)
{
    hs_json_key(json, key);
    hs_json_open(json, '{');
    hs_json_kv_uint(json, "count", count);
    for (size_t i = 0; i < column_count; i++) {
        hs_page_column(json, columns[i].key, count, columns[i].value, ctx);
    }
    hs_json_close(json, '}');
}

/* Defines a function that gives a column of a table. */
#define VALUE(name, one, expression)                                                               \
    static double name(const void *ctx, uint32_t row)                                              \
    {                                                                                              \
        const struct hs_page_tree *tree = ctx;                                                     \
        const struct hs_page_##one *it = &tree->one##s[row];                                       \
        return (double)(expression);                                                               \
    }

VALUE(module_path, module, it->path)
VALUE(module_name, module, it->name)
VALUE(module_build_id, module, it->build_id)
VALUE(module_is_program, module, it->is_program)

VALUE(function_name, function, it->name)
VALUE(function_short, function, it->short_name)
VALUE(function_module, function, it->module == UINT32_MAX ? -1.0 : it->module)
VALUE(function_file, function, it->file)
VALUE(function_class, function, it->class_)
VALUE(function_kind, function, it->kind)
VALUE(function_is_nameless, function, it->is_nameless)
VALUE(function_is_wrapper, function, it->is_wrapper)
VALUE(function_folded, function, it->folded)
VALUE(function_same, function, it->same)

VALUE(frame_function, frame, it->function)
VALUE(frame_file, frame, it->file)
VALUE(frame_line, frame, it->line)
VALUE(frame_is_inlined, frame, it->is_inlined)

VALUE(node_up, node, it->parent == HS_NODE_NONE ? 0 : row - it->parent)
VALUE(node_frame, node, it->frame)

void hs_page_tree_write(const struct hs_page_tree *tree, struct hs_json *json)
{
    static const struct column modules[] = {
        { "path", module_path },
        { "name", module_name },
        { "build_id", module_build_id },
        { "is_program", module_is_program },
    };
    static const struct column functions[] = {
        { "name", function_name },
        { "short", function_short },
        { "module", function_module },
        { "file", function_file },
        { "class", function_class },
        { "kind", function_kind },
        { "is_nameless", function_is_nameless },
        { "is_wrapper", function_is_wrapper },
        { "folded", function_folded },
        { "same", function_same },
    };
    static const struct column frames[] = {
        { "function", frame_function },
        { "file", frame_file },
        { "line", frame_line },
        { "is_inlined", frame_is_inlined },
    };
    static const struct column nodes[] = { { "up", node_up }, { "frame", node_frame } };
    write_table(json, "modules", tree->module_ids.count, tree, modules, HS_COUNT_OF(modules));
    write_table(json, "functions", tree->function_ids.count, tree, functions,
                HS_COUNT_OF(functions));
    write_table(json, "frames", tree->frame_ids.count, tree, frames, HS_COUNT_OF(frames));
    write_table(json, "tree", tree->node_ids.count, tree, nodes, HS_COUNT_OF(nodes));
}
