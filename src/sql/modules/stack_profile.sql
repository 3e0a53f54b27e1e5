-- Call sites with their inlined functions as separate rows: a forest, with the outermost functions at its roots.
DROP TABLE IF EXISTS _callstack_spc_forest;
CREATE VIRTUAL TABLE _callstack_spc_forest USING __heapscope_stack_forest;

-- The part of the forest that leads to samples. Samples have a column callsite_id. self_count is the number of samples
-- whose stack ends at the row.
CREATE OR REPLACE PERFETTO MACRO _callstacks_for_stack_profile_samples(samples TableOrSubquery)
RETURNS TableOrSubquery AS (
  SELECT id, parent_id, callsite_id, name, mapping_name, source_file, line_number, inlined,
    is_leaf_function_in_callsite_frame, self_0 AS self_count
  FROM __heapscope_stacks((SELECT __heapscope_stack_sums(callsite_id, 1) FROM $samples))
);
