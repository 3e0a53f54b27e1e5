-- The stacks of allocations: a subquery with the columns callsite_id, size, count, alloc_size, alloc_count.
INCLUDE PERFETTO MODULE callstacks.stack_profile;

CREATE OR REPLACE PERFETTO MACRO _android_heap_profile_callstacks_for_allocations(
  allocations TableOrSubquery
)
RETURNS TableOrSubquery AS (
  WITH RECURSIVE
    _heap_values AS MATERIALIZED (
      SELECT l.id AS id, SUM(a.size) AS size, SUM(a.count) AS count,
        SUM(a.alloc_size) AS alloc_size, SUM(a.alloc_count) AS alloc_count
      FROM $allocations a
      JOIN _callstack_spc_leaves l ON l.callsite_id = a.callsite_id
      GROUP BY l.id
    ),
    _heap_used(id, parent_id) AS (
      SELECT f.id, f.parent_id FROM _heap_values v JOIN _callstack_spc_forest f ON f.id = v.id
      UNION
      SELECT f.id, f.parent_id FROM _heap_used u JOIN _callstack_spc_forest f ON f.id = u.parent_id
    )
  SELECT f.id, f.parent_id, f.name, f.mapping_name, f.source_file, f.line_number,
    COALESCE(v.size, 0) AS self_size, COALESCE(v.count, 0) AS self_count,
    COALESCE(v.alloc_size, 0) AS self_alloc_size, COALESCE(v.alloc_count, 0) AS self_alloc_count
  FROM _heap_used u
  JOIN _callstack_spc_forest f ON f.id = u.id
  LEFT JOIN _heap_values v ON v.id = u.id
);
