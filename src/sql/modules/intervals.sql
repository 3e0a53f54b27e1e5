-- The interval that each dump of each heap covers. A dump without a start time begins 1 ns after the previous dump of
-- the same heap.
DROP TABLE IF EXISTS _heap_profile_dump_sums;
CREATE VIRTUAL TABLE _heap_profile_dump_sums USING __heapscope_dump_sums;

-- `retained` is the size of the heap that was live after this dump.
CREATE OR REPLACE PERFETTO TABLE _heap_profile_by_dump AS
SELECT upid, heap_name, ts, allocated, delta,
  SUM(held_change) OVER (PARTITION BY upid, heap_name ORDER BY ts) AS retained
FROM _heap_profile_dump_sums;

DROP TABLE _heap_profile_dump_sums;

CREATE OR REPLACE PERFETTO INDEX _heap_profile_by_dump_index
ON _heap_profile_by_dump(upid, heap_name, ts);

CREATE OR REPLACE PERFETTO TABLE _android_heap_profile_intervals AS
WITH
  _dump AS (
    SELECT id, upid, heap_name, ts, ts_end,
      LAG(ts_end) OVER (PARTITION BY upid, heap_name ORDER BY ts_end, id) AS end_before
    FROM heap_profile
  ),
  _start AS (
    SELECT id, upid, heap_name, ts_end,
      CASE WHEN ts = ts_end AND end_before < ts_end THEN end_before + 1 ELSE ts END AS ts
    FROM _dump
  )
SELECT d.id AS id, d.upid AS upid, d.heap_name AS heap_name, d.ts AS ts, d.ts_end - d.ts AS dur,
  COALESCE((
    SELECT r.retained FROM _heap_profile_by_dump r
    WHERE r.upid = d.upid AND r.heap_name = d.heap_name AND r.ts <= d.ts_end
    ORDER BY r.ts DESC LIMIT 1
  ), 0) AS retained,
  COALESCE(a.allocated, 0) AS allocated,
  COALESCE(a.delta, 0) AS delta
FROM _start d
LEFT JOIN _heap_profile_by_dump a ON a.upid = d.upid
  AND a.heap_name = d.heap_name AND a.ts = d.ts_end;
