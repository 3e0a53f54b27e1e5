/*
 * Reads the folded tree: totals, functions, stacks, children, headlines. See aggregate.h.
 */
#include "profile/analyse/aggregate.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/model/frame_class.h"

/*
 * Below this share of the peak (or of the allocated total), live memory says little, and the other
 * view is chosen.
 */
#define LIVE_SHARE_MEANINGFUL 0.20

int hs_view_choose(const struct hs_selection *selection, enum hs_view wanted,
                   enum hs_view *ret_view, const char **ret_reason)
{
    double most = selection->has_peak ? selection->peak.bytes : selection->alloc.bytes;
    double live = selection->live.bytes;
    *ret_reason = NULL;
    if (wanted != HS_VIEW_AUTO) {
        *ret_view = wanted;
        bool is_there = hs_views[wanted].quantity != HS_QUANTITY_PEAK || selection->has_peak;
        return is_there ? 0 : HS_SELECT_E_NO_PEAK;
    }
    *ret_view = HS_VIEW_SPACE;
    if (most > 0 && live < LIVE_SHARE_MEANINGFUL * most) {
        *ret_view = selection->has_peak ? HS_VIEW_PEAK : HS_VIEW_ALLOC_SPACE;
        *ret_reason =
            live > 0 ? "less than a fifth of it is live" : "no recorded block is still live";
    }
    return 0;
}

struct hs_amount hs_agg_total(const struct hs_agg *agg, const struct hs_selection *selection,
                              enum hs_view view)
{
    enum hs_quantity quantity = hs_views[view].quantity;
    struct hs_amount total = quantity == HS_QUANTITY_LIVE    ? selection->live
                             : quantity == HS_QUANTITY_ALLOC ? selection->alloc
                                                             : selection->peak;
    struct hs_amount sum = { 0 };
    for (uint32_t i = 0; i < agg->self_count; i++) {
        hs_amount_add(&sum, &agg->selves[i].by[quantity]);
    }
    return hs_view_value(view, &sum) > hs_view_value(view, &total) ? sum : total;
}

int hs_agg_totals(const struct hs_agg *agg, enum hs_quantity quantity,
                  struct hs_amount **ret_totals)
{
    struct hs_amount *totals = calloc(agg->node_count + 1u, sizeof(*totals));
    if (!totals) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < agg->self_count; i++) {
        totals[agg->selves[i].node] = agg->selves[i].by[quantity];
    }
    for (uint32_t i = agg->node_count; i > 0; i--) {
        uint32_t parent = agg->nodes[i - 1].parent;
        hs_amount_widen(&totals[i - 1], agg->interval_bytes);
        if (parent != HS_NODE_NONE) {
            hs_amount_add(&totals[parent], &totals[i - 1]);
        }
    }
    *ret_totals = totals;
    return 0;
}

int hs_agg_functions(const struct hs_agg *agg, enum hs_quantity quantity,
                     struct hs_agg_row **ret_rows, uint32_t *ret_row_count)
{
    struct hs_agg_row *rows = calloc(agg->function_count + 1u, sizeof(*rows));
    /* index of the last stack that contained it, + 1 */
    uint32_t *seen_in = calloc(agg->function_count + 1u, sizeof(*seen_in));
    if (!rows || !seen_in) {
        free(rows);
        free(seen_in);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < agg->self_count; i++) {
        const struct hs_amount *amount = &agg->selves[i].by[quantity];
        if (amount->bytes <= 0 && amount->count <= 0) {
            continue;
        }
        uint32_t node = agg->selves[i].node;
        hs_amount_add(&rows[agg->nodes[hs_agg_headline(agg, node)].function].self, amount);
        for (; node != HS_NODE_NONE; node = agg->nodes[node].parent) {
            uint32_t function = agg->nodes[node].function;
            if (seen_in[function] != i + 1) {
                seen_in[function] = i + 1;
                hs_amount_add(&rows[function].total, amount);
            }
        }
    }
    uint32_t row_count = 0;
    for (uint32_t i = 0; i < agg->function_count; i++) {
        if (seen_in[i] != 0) {
            rows[row_count] = rows[i];
            hs_amount_widen(&rows[row_count].self, agg->interval_bytes);
            rows[row_count++].function = i;
        }
    }
    free(seen_in);
    *ret_rows = rows;
    *ret_row_count = row_count;
    return 0;
}

struct row_order {
    enum hs_view view;
    enum hs_agg_order order;
};

static int compare_values(double a, double b, uint32_t a_id, uint32_t b_id)
{
    if (a > b || a < b) {
        return a > b ? -1 : 1;
    }
    return a_id < b_id ? -1 : a_id > b_id;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
    const struct hs_agg_row *x = a;
    const struct hs_agg_row *y = b;
    const struct row_order *by = ctx;
    bool is_self = by->order == HS_AGG_BY_SELF;
    return compare_values(hs_view_value(by->view, is_self ? &x->self : &x->total),
                          hs_view_value(by->view, is_self ? &y->self : &y->total), x->function,
                          y->function);
}

void hs_agg_sort_functions(struct hs_agg_row *rows, uint32_t row_count, enum hs_view view,
                           enum hs_agg_order order)
{
    struct row_order by = { .view = view, .order = order };
    qsort_r(rows, row_count, sizeof(*rows), compare_rows, &by);
}

struct self_order {
    const struct hs_agg_self *selves;
    enum hs_view view;
};

static int compare_selves(const void *a, const void *b, void *ctx)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    const struct self_order *by = ctx;
    enum hs_quantity quantity = hs_views[by->view].quantity;
    return compare_values(hs_view_value(by->view, &by->selves[x].by[quantity]),
                          hs_view_value(by->view, &by->selves[y].by[quantity]), x, y);
}

int hs_agg_sorted_stacks(const struct hs_agg *agg, enum hs_view view, uint32_t **ret_order,
                         uint32_t *ret_count)
{
    uint32_t *order = calloc(agg->self_count + 1u, sizeof(*order));
    if (!order) {
        return -ENOMEM;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < agg->self_count; i++) {
        if (hs_view_value(view, &agg->selves[i].by[hs_views[view].quantity]) > 0) {
            order[count++] = i;
        }
    }
    struct self_order by = { .selves = agg->selves, .view = view };
    qsort_r(order, count, sizeof(*order), compare_selves, &by);
    *ret_order = order;
    *ret_count = count;
    return 0;
}

struct child_order {
    const struct hs_amount *totals;
    enum hs_view view;
};

static int compare_children(const void *a, const void *b, void *ctx)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    const struct child_order *by = ctx;
    return compare_values(hs_view_value(by->view, &by->totals[x]),
                          hs_view_value(by->view, &by->totals[y]), x, y);
}

int hs_agg_children_build(const struct hs_agg *agg, const struct hs_amount *totals,
                          enum hs_view view, struct hs_agg_children *ret_children)
{
    uint32_t n = agg->node_count;
    struct hs_agg_children c = { 0 };
    uint32_t *next = calloc(n + 2u, sizeof(*next));
    c.first = calloc(n + 2u, sizeof(*c.first));
    c.children = calloc(n + 1u, sizeof(*c.children));
    if (!next || !c.first || !c.children) {
        free(next);
        hs_agg_children_deinit(&c);
        return -ENOMEM;
    }
    /*
     * Children are counted, the counts are added up, and then the children are written to their
     * positions. Outermost nodes are children of the imaginary node n.
     */
    for (uint32_t i = 0; i < n; i++) {
        uint32_t parent = agg->nodes[i].parent;
        c.first[(parent == HS_NODE_NONE ? n : parent) + 1]++;
    }
    for (uint32_t i = 0; i <= n; i++) {
        c.first[i + 1] += c.first[i];
        next[i] = c.first[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t parent = agg->nodes[i].parent;
        c.children[next[parent == HS_NODE_NONE ? n : parent]++] = i;
    }
    free(next);
    struct child_order by = { .totals = totals, .view = view };
    for (uint32_t i = 0; i <= n; i++) {
        uint32_t count = c.first[i + 1] - c.first[i];
        if (count > 1) {
            qsort_r(c.children + c.first[i], count, sizeof(*c.children), compare_children, &by);
        }
    }
    *ret_children = c;
    return 0;
}

void hs_agg_children_deinit(struct hs_agg_children *children)
{
    free(children->first);
    free(children->children);
    *children = (struct hs_agg_children){ 0 };
}

uint32_t hs_agg_headline(const struct hs_agg *agg, uint32_t node)
{
    uint32_t library = HS_NODE_NONE;
    for (uint32_t n = node; n != HS_NODE_NONE; n = agg->nodes[n].parent) {
        uint8_t class_ = agg->functions[agg->nodes[n].function].class_;
        if (class_ == HS_FRAME_CLASS_USER) {
            return n;
        }
        if ((class_ == HS_FRAME_CLASS_LIBRARY || class_ == HS_FRAME_CLASS_RUNTIME) &&
            library == HS_NODE_NONE) {
            library = n;
        }
    }
    return library != HS_NODE_NONE ? library : node;
}
