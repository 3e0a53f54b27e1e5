-- What each dump of each heap covers. A dump without a start begins 1 ns after the one before it of the same heap.
CREATE OR REPLACE PERFETTO TABLE _heap_profile_by_dump AS
WITH
  _net AS (
    SELECT upid, heap_name, ts, callsite_id, SUM(size) AS size, SUM(count) AS count,
      SUM(MAX(size, 0)) AS allocated
    FROM heap_profile_allocation
    GROUP BY upid, heap_name, ts, callsite_id
  ),
  _so_far AS (
    SELECT *, SUM(size) OVER _site AS size_so_far, SUM(count) OVER _site AS count_so_far
    FROM _net
    WINDOW _site AS (PARTITION BY upid, heap_name, callsite_id ORDER BY ts)
  ),
  _held AS (
    SELECT *, CASE WHEN count_so_far > 0 THEN size_so_far ELSE 0 END AS held FROM _so_far
  ),
  _change AS (
    SELECT *, held - COALESCE(LAG(held) OVER (
      PARTITION BY upid, heap_name, callsite_id ORDER BY ts), 0) AS held_change
    FROM _held
  )
SELECT upid, heap_name, ts, SUM(allocated) AS allocated, SUM(size) AS delta,
  SUM(held_change) AS held_change
FROM _change
GROUP BY upid, heap_name, ts;

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
    SELECT SUM(r.held_change) FROM _heap_profile_by_dump r
    WHERE r.upid = d.upid AND r.heap_name = COALESCE(d.heap_name, 'unknown') AND r.ts <= d.ts_end
  ), 0) AS retained,
  COALESCE(a.allocated, 0) AS allocated,
  COALESCE(a.delta, 0) AS delta
FROM _start d
LEFT JOIN _heap_profile_by_dump a ON a.upid = d.upid
  AND a.heap_name = COALESCE(d.heap_name, 'unknown') AND a.ts = d.ts_end;
