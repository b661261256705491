-- upkeep.sql - transactions, what the database knows beside runs, counts, and what goes in time. The writing connection's.

-- name: BEGIN
BEGIN IMMEDIATE;

-- name: COMMIT
COMMIT;

-- name: ROLLBACK
ROLLBACK;

-- name: META_GET
SELECT v FROM meta WHERE k = :name;

-- name: META_PUT
INSERT OR REPLACE INTO meta (k, v) VALUES (:name, :value);

-- counts of how runs end (tally.h) ------------------------------------------------------------------------------------

-- name: TALLY_GET
SELECT counts FROM tally WHERE app_id = :app_id AND minute = :minute;

-- name: TALLY_PUT
INSERT INTO tally (app_id, minute, counts) VALUES (:app_id, :minute, :counts)
ON CONFLICT DO UPDATE SET counts = excluded.counts;

-- name: TALLY_PURGE
DELETE FROM tally WHERE (app_id, minute) IN (
    SELECT app_id, minute FROM tally WHERE minute < :before ORDER BY minute LIMIT :max);

-- name: TALLY_OLDEST
SELECT minute FROM tally ORDER BY minute LIMIT 1;

-- results that are old ------------------------------------------------------------------------------------------------

-- name: RESULT_AFTER
-- The next one, with its request.
SELECT result.number, result.run_id, result.finished_ms, result.body_where, result.body_file, result.body_size,
    request.number IS NOT NULL, request.body_file, request.body_size, result.is_stream
FROM result
LEFT JOIN request ON request.number = result.number
WHERE result.number > :after ORDER BY result.number LIMIT 1;

-- name: RESULT_OLDEST_STREAM
-- As RESULT_AFTER, of kept streams; they have no requests.
SELECT number, run_id, finished_ms, body_where, body_file, body_size, 0, NULL, 0, is_stream
FROM result INDEXED BY result_stream
WHERE is_stream = 1 ORDER BY finished_ms, number LIMIT 1;

-- name: RESULT_STRIP
UPDATE result SET body_where = {body_where.dropped}, body_bytes = NULL, body_file = NULL,
    encoding = {encoding.none}, is_stream = 0
WHERE number = :number;

-- name: RESULT_DROP
DELETE FROM result WHERE number = :number;

-- name: STREAM_BYTES
SELECT coalesce(sum(body_size), 0) FROM result WHERE is_stream = 1;

-- bodies in files -----------------------------------------------------------------------------------------------------

-- name: FILE_KNOWN
-- Is it a record's, or may it be that of a run that began while it was made?
SELECT EXISTS (SELECT 1 FROM ticket WHERE body_file = :file)
    OR EXISTS (SELECT 1 FROM result WHERE body_file = :file)
    OR EXISTS (SELECT 1 FROM request WHERE body_file = :file)
    OR EXISTS (SELECT 1 FROM run JOIN ticket ON ticket.number = run.number
        WHERE run.run_id BETWEEN :first AND :last AND run.has_begun = 1);

-- name: FILE_EACH
SELECT body_file, run_id FROM ticket WHERE body_file IS NOT NULL
UNION ALL SELECT body_file, run_id FROM result WHERE body_file IS NOT NULL
UNION ALL SELECT body_file, run_id FROM request WHERE body_file IS NOT NULL;

-- pages ---------------------------------------------------------------------------------------------------------------

-- Asked before each transaction: as tables (pragma_page_count) these would be compiled anew each time.

-- name: PAGES_ALL
PRAGMA page_count;

-- name: PAGES_FREE
PRAGMA freelist_count;

-- name: VACUUM
PRAGMA incremental_vacuum(256);
