-- The stacks of allocations. The argument is a table or a subquery with the columns callsite_id, size, count,
-- alloc_size, alloc_count.
INCLUDE PERFETTO MODULE callstacks.stack_profile;

CREATE OR REPLACE PERFETTO MACRO _android_heap_profile_callstacks_for_allocations(
  allocations TableOrSubquery
)
RETURNS TableOrSubquery AS (
  SELECT id, parent_id, name, mapping_name, source_file, line_number, self_0 AS self_size,
    self_1 AS self_count, self_2 AS self_alloc_size, self_3 AS self_alloc_count
  FROM __heapscope_stacks((
    SELECT __heapscope_stack_sums(callsite_id, size, count, alloc_size, alloc_count)
    FROM $allocations
  ))
);
