-- delivery.sql - webhooks: leased, their attempts and outcomes, redelivered.
--
-- A delivery that is pending has a ticket. One that nobody has is ready, or waits for a later attempt: then it is in no
-- index that LEASE reads, until DELIVERY_WAKE has looked.

-- part: is_ready
t.node_id IS NULL AND NOT t.is_waiting;

-- part: leased
-- What a delivery is sent from: `x` has (delivery_id, run_id, lane, round, n, max_attempts, url, secret), where it goes
-- elsewhere than its run's webhook the last two of its own, which are sealed as the run's are. handout.c finds the lane by
-- its place.
x.delivery_id, x.run_id, (SELECT f.since_ms FROM :schema.failing f WHERE f.lane = x.lane),
    x.lane, x.round, x.n, x.max_attempts, r.is_async, r.project, r.app, coalesce(x.url, r.url),
    CASE WHEN x.url IS NULL THEN r.secret ELSE x.secret END, r.traceparent, r.tags, {outcome};

-- name: DELIVERY_WAKE
-- Deliveries that are due wait no longer, :max at the most; how many those are, and in how many ms the next one is due,
-- -1: none is.
WITH due AS MATERIALIZED (
    SELECT delivery_id FROM :schema.delivery_ticket
    WHERE node_id IS NULL AND is_waiting AND due_at <= now()
    ORDER BY due_at LIMIT :max::bigint FOR UPDATE SKIP LOCKED),
woken AS (
    UPDATE :schema.delivery_ticket t SET is_waiting = false FROM due WHERE t.delivery_id = due.delivery_id
    RETURNING t.delivery_id)
SELECT (SELECT count(*) FROM woken),
    coalesce((
        SELECT greatest(0, ceil(extract(epoch FROM due_at - now()) * 1000)::bigint) FROM :schema.delivery_ticket
        WHERE node_id IS NULL AND is_waiting AND due_at > now() ORDER BY due_at LIMIT 1), -1);

-- name: LEASE
-- :after the lane after which to begin, :max how many, :per_lane places at a lane, 0: as many as are free, :lane and
-- :taken lanes and the places taken there, :free how many places are free, :unproven how many those lanes have taken that
-- are not proven, :proven lanes that are. While the others may have no more, only these are looked at; else lanes in
-- turn, so many that some of them have free places. What is found is taken in turn for as long as each lane, and all that
-- are not proven together, have fewer places than are free then.
WITH RECURSIVE {me_in_session},
known AS MATERIALIZED (
    SELECT lane, taken FROM unnest(:lane::bigint[], :taken::bigint[]) AS k(lane, taken)),
lanes(lane, nth) AS (
    (SELECT t.lane, 1 FROM :schema.delivery_ticket t
        WHERE {is_ready} AND t.lane > :after::bigint
            AND (:per_lane::bigint > 0 OR :unproven::bigint < 3 * :free::bigint)
        ORDER BY t.lane LIMIT 1)
    UNION ALL
    SELECT (SELECT t.lane FROM :schema.delivery_ticket t
        WHERE {is_ready} AND t.lane > l.lane ORDER BY t.lane LIMIT 1), l.nth + 1
    FROM lanes l WHERE l.lane IS NOT NULL AND l.nth < 64 + cardinality(:lane::bigint[])),
proven AS (
    SELECT p.lane FROM (
        SELECT lane FROM unnest(:proven::bigint[]) AS u(lane)
        WHERE lane > :after::bigint AND :per_lane::bigint = 0 AND :unproven::bigint >= 3 * :free::bigint
        ORDER BY lane) p
    WHERE EXISTS (SELECT FROM :schema.delivery_ticket t WHERE {is_ready} AND t.lane = p.lane) LIMIT 64),
seen AS (
    SELECT lane FROM lanes WHERE lane IS NOT NULL UNION ALL SELECT lane FROM proven),
judged AS (
    SELECT s.lane, coalesce(k.taken, 0) AS taken,
        f.lane IS NULL AND s.lane = ANY (:proven::bigint[]) AS is_proven,
        f.lane IS NULL AND :per_lane::bigint = 0 AS is_shared,
        CASE WHEN f.lane IS NOT NULL THEN 1 WHEN :per_lane::bigint > 0 THEN :per_lane::bigint
            ELSE :free::bigint END AS most
    FROM seen s
    LEFT JOIN known k ON k.lane = s.lane
    LEFT JOIN :schema.failing f ON f.lane = s.lane),
open AS MATERIALIZED (
    SELECT * FROM judged
    WHERE taken < most
        AND (is_proven OR :per_lane::bigint > 0
            OR :unproven::bigint < CASE taken WHEN 0 THEN 3 ELSE 1 END * :free::bigint)
    ORDER BY lane),
found AS MATERIALIZED (
    SELECT o.*, d.delivery_id, d.due_at FROM open o
    CROSS JOIN LATERAL (
        SELECT t.delivery_id, t.due_at FROM :schema.delivery_ticket t
        WHERE {is_ready} AND t.lane = o.lane AND t.due_at <= now()
        ORDER BY t.due_at, t.delivery_id
        LIMIT least(o.most - o.taken, greatest(1, :max::bigint / (SELECT count(*) FROM open)))
        FOR UPDATE SKIP LOCKED) d
    WHERE EXISTS (SELECT FROM me) LIMIT :max::bigint),
ranked AS (
    SELECT *, row_number() OVER (PARTITION BY lane ORDER BY due_at, delivery_id) - 1 AS before FROM found),
turns AS (
    SELECT *, row_number() OVER (ORDER BY before, lane) - 1 AS gone,
        row_number() OVER (PARTITION BY is_proven ORDER BY before, lane) - 1 AS alike
    FROM ranked),
next AS (
    SELECT delivery_id FROM turns
    WHERE (NOT is_shared OR taken + before < :free::bigint - gone)
        AND (is_proven OR :per_lane::bigint > 0
            OR :unproven::bigint + alike < CASE taken + before WHEN 0 THEN 3 ELSE 1 END * (:free::bigint - gone))),
taken AS (
    UPDATE :schema.delivery_ticket t SET node_id = :me::uuid FROM next WHERE t.delivery_id = next.delivery_id
    RETURNING t.delivery_id, t.lane),
x AS (
    UPDATE :schema.delivery d SET n = d.n + 1,
        max_attempts = CASE d.max_attempts WHEN 0 THEN :delivery_attempts::bigint ELSE d.max_attempts END
    FROM taken t WHERE d.delivery_id = t.delivery_id
    RETURNING d.delivery_id, d.run_id, d.lane, d.round, d.n, d.max_attempts, d.url, d.secret),
added AS (
    INSERT INTO :schema.attempt (delivery_id, round, n, started_ms)
    SELECT delivery_id, round, n, :now_ms::bigint FROM x ON CONFLICT DO NOTHING)
SELECT {leased}
FROM x LEFT JOIN :schema.run r ON r.run_id = x.run_id
ORDER BY x.lane, x.delivery_id;

-- name: DELIVERY_STRAYS
-- :known the deliveries that the sender has: all other claims were never heard of.
WITH back AS (
    UPDATE :schema.delivery_ticket SET node_id = NULL
    WHERE node_id = :me::uuid AND delivery_id <> ALL (:known::uuid[])
    RETURNING delivery_id),
unsent AS (
    UPDATE :schema.delivery d SET n = d.n - 1 FROM back b WHERE d.delivery_id = b.delivery_id
    RETURNING d.delivery_id, d.round, d.n + 1 AS n),
dropped AS (
    DELETE FROM :schema.attempt a USING unsent u
    WHERE a.delivery_id = u.delivery_id AND a.round = u.round AND a.n = u.n AND a.verdict IS NULL)
SELECT count(*) FROM back;

-- name: DELIVERY_PUT_OFF
-- Deliveries that cannot be sent from here.
WITH back AS (
    UPDATE :schema.delivery_ticket t SET node_id = NULL, is_waiting = true, due_at = now() + {put_off(y)}
    FROM :schema.delivery y
    WHERE t.node_id = :me::uuid AND t.delivery_id = ANY (:delivery_id::uuid[]) AND y.delivery_id = t.delivery_id
    RETURNING t.delivery_id),
unsent AS (
    UPDATE :schema.delivery d SET n = d.n - 1 FROM back b WHERE d.delivery_id = b.delivery_id
    RETURNING d.delivery_id, d.round, d.n + 1 AS n)
DELETE FROM :schema.attempt a USING unsent u
WHERE a.delivery_id = u.delivery_id AND a.round = u.round AND a.n = u.n AND a.verdict IS NULL;

-- attempts and outcomes -----------------------------------------------------------------------------------------------

-- name: ATTEMPT
WITH input AS MATERIALIZED (
    SELECT * FROM unnest(:delivery_id::uuid[], :round::bigint[], :n::bigint[], :is_again::bigint[])
    WITH ORDINALITY AS t(delivery_id, round, n, is_again, ord)),
held AS (
    SELECT i.*, d.n AS was FROM input i
    JOIN :schema.delivery_ticket t ON t.delivery_id = i.delivery_id AND {is_mine}
    JOIN :schema.delivery d ON d.delivery_id = i.delivery_id AND d.round = i.round AND d.max_attempts >= i.n
        AND (d.n = i.n - 1 AND i.is_again = 0
            OR d.n = i.n AND EXISTS (
                SELECT FROM :schema.attempt a
                WHERE a.delivery_id = i.delivery_id AND a.round = i.round AND a.n = i.n AND a.verdict IS NULL))
    FOR UPDATE OF t),
x AS (
    UPDATE :schema.delivery d SET n = h.n FROM held h WHERE d.delivery_id = h.delivery_id
    RETURNING h.ord, d.delivery_id, d.run_id, d.lane, d.round, d.n, d.max_attempts, d.url, d.secret),
added AS (
    INSERT INTO :schema.attempt (delivery_id, round, n, started_ms)
    SELECT delivery_id, round, n, :now_ms::bigint FROM held WHERE was < n ON CONFLICT DO NOTHING)
SELECT i.ord, CASE WHEN x.ord IS NULL THEN {pg_code.stale} ELSE {pg_code.done} END, {leased}
FROM input i
LEFT JOIN x ON x.ord = i.ord
LEFT JOIN :schema.run r ON r.run_id = x.run_id;

-- name: OUTCOME
-- A retry is due at :next_ms, 0: at once, whoever sends it; what is put off is anybody's. That a destination fails is
-- noted until one of its attempts has an answer.
WITH input AS MATERIALIZED (
    SELECT * FROM unnest(:delivery_id::uuid[], :round::bigint[], :n::bigint[], :verdict::bigint[],
        :http_status::bigint[], :started_ms::bigint[], :ended_ms::bigint[], :error::bytea[], :next_ms::bigint[],
        :puts_off::bigint[], :health::bigint[], :since_ms::bigint[], :name_us::bigint[], :connect_us::bigint[],
        :tls_us::bigint[], :first_byte_us::bigint[], :address::bytea[], :content_type::bytea[], :body::bytea[],
        :sent_size::bigint[], :retry_after_s::bigint[])
    WITH ORDINALITY AS t(delivery_id, round, n, verdict,
        http_status, started_ms, ended_ms, error, next_ms,
        puts_off, health, since_ms, name_us, connect_us,
        tls_us, first_byte_us, address, content_type, body, sent_size, retry_after_s, ord)),
held AS (
    SELECT i.*, d.lane, d.n >= d.max_attempts AS is_last,
        i.verdict = {attempt_verdict.abandoned} AND i.started_ms = 0 AND EXISTS (
            SELECT FROM :schema.attempt a
            WHERE a.delivery_id = i.delivery_id AND a.round = i.round AND a.n = i.n AND a.verdict IS NULL) AS is_unsent
    FROM input i
    JOIN :schema.delivery_ticket t ON t.delivery_id = i.delivery_id AND {is_mine}
    JOIN :schema.delivery d ON d.delivery_id = i.delivery_id AND d.round = i.round AND d.n = i.n
    FOR UPDATE OF t),
judged AS (
    SELECT *,
        CASE WHEN verdict = {attempt_verdict.ok} THEN {delivery_state.ok}
            WHEN verdict = {attempt_verdict.dead} OR is_last AND NOT is_unsent THEN {delivery_state.dead} END AS final
    FROM held),
over AS (
    DELETE FROM :schema.delivery_ticket t USING judged j WHERE t.delivery_id = j.delivery_id AND j.final IS NOT NULL),
back AS (
    UPDATE :schema.delivery_ticket t SET
        node_id = CASE WHEN j.verdict = {attempt_verdict.abandoned} OR j.puts_off = 1 THEN NULL ELSE t.node_id END,
        due_at = CASE WHEN j.verdict = {attempt_verdict.abandoned} THEN t.due_at
            WHEN j.next_ms > 0 THEN {at(j.next_ms)} ELSE now() END,
        is_waiting = CASE j.verdict WHEN {attempt_verdict.abandoned} THEN t.is_waiting AND t.due_at > now()
            ELSE j.next_ms > 0 END
    FROM judged j WHERE t.delivery_id = j.delivery_id AND j.final IS NULL),
fails AS (
    INSERT INTO :schema.failing (lane, since_ms)
    SELECT lane, min(since_ms) FROM judged
    WHERE verdict <> {attempt_verdict.abandoned} AND health = {lane_health.failing}
    GROUP BY lane ORDER BY lane ON CONFLICT DO NOTHING),
heals AS (
    DELETE FROM :schema.failing f USING judged j
    WHERE f.lane = j.lane AND j.verdict <> {attempt_verdict.abandoned} AND j.health <> {lane_health.failing}
        AND (j.http_status > 0 OR j.health = {lane_health.proven})),
noted AS (
    UPDATE :schema.delivery d SET state = coalesce(j.final, d.state), n = d.n - j.is_unsent::integer,
        done_ms = CASE WHEN j.final IS NOT NULL THEN {done_ms(d)} ELSE d.done_ms END
    FROM judged j WHERE d.delivery_id = j.delivery_id),
closed AS (
    UPDATE :schema.attempt a SET started_ms = j.started_ms, ended_ms = j.ended_ms,
        verdict = CASE WHEN j.verdict = {attempt_verdict.retry} AND j.final IS NOT NULL THEN {attempt_verdict.dead}
            ELSE j.verdict END,
        http_status = j.http_status, error = j.error, name_us = j.name_us,
        connect_us = j.connect_us, tls_us = j.tls_us, first_byte_us = j.first_byte_us,
        address = j.address, content_type = j.content_type, body = j.body,
        sent_size = j.sent_size, retry_after_s = j.retry_after_s
    FROM judged j
    WHERE a.delivery_id = j.delivery_id AND a.round = j.round AND a.n = j.n AND a.verdict IS NULL
        AND NOT j.is_unsent),
dropped AS (
    DELETE FROM :schema.attempt a USING judged j
    WHERE a.delivery_id = j.delivery_id AND a.round = j.round AND a.n = j.n AND a.verdict IS NULL AND j.is_unsent)
SELECT i.ord,
    CASE WHEN j.ord IS NOT NULL THEN {pg_code.done}
        WHEN EXISTS (
            SELECT FROM :schema.attempt a
            WHERE a.delivery_id = i.delivery_id AND a.round = i.round AND a.n = i.n AND a.ended_ms = i.ended_ms)
        THEN {pg_code.before} ELSE {pg_code.stale} END,
    j.final
FROM input i LEFT JOIN judged j ON j.ord = i.ord;

-- name: DELIVERY_RECALL
-- Deliveries that are settled: their round, and last attempt, how; and that attempt. What was made anew since then is
-- another round.
WITH held AS MATERIALIZED (
    SELECT i.* FROM unnest(:delivery_id::uuid[], :round::bigint[], :n::bigint[], :state::bigint[], :verdict::bigint[],
        :http_status::bigint[], :started_ms::bigint[], :ended_ms::bigint[])
        AS i(delivery_id, round, n, state, verdict, http_status, started_ms, ended_ms)
    JOIN :schema.delivery d ON d.delivery_id = i.delivery_id AND d.state = {delivery_state.pending}
        AND d.round <= i.round
    FOR UPDATE OF d),
over AS (
    DELETE FROM :schema.delivery_ticket t USING held h WHERE t.delivery_id = h.delivery_id),
noted AS (
    UPDATE :schema.delivery d SET state = h.state, round = h.round, n = h.n, done_ms = {done_ms(d)}
    FROM held h WHERE d.delivery_id = h.delivery_id),
closed AS (
    INSERT INTO :schema.attempt AS a (delivery_id, round, n, started_ms, ended_ms, verdict, http_status)
    SELECT delivery_id, round, n, started_ms, ended_ms, verdict, http_status FROM held
    ON CONFLICT (delivery_id, round, n) DO UPDATE
    SET started_ms = excluded.started_ms, ended_ms = excluded.ended_ms, verdict = excluded.verdict,
        http_status = excluded.http_status
    WHERE a.verdict IS NULL)
SELECT count(*) FROM held;

-- redelivery ----------------------------------------------------------------------------------------------------------

-- name: REDELIVER
-- Of any project: ''; in any round: 0.
WITH renewed AS (
    UPDATE :schema.delivery SET state = {delivery_state.pending}, round = round + 1, n = 0,
        max_attempts = :delivery_attempts::bigint, done_ms = {now_ms}
    WHERE delivery_id = :delivery_id::uuid AND state <> {delivery_state.pending} AND done_ms > :kept_since_ms::bigint
        AND (:project::text = '' OR project = :project::text) AND (:round::bigint = 0 OR round = :round::bigint)
    RETURNING delivery_id, lane),
due AS (
    INSERT INTO :schema.delivery_ticket (delivery_id, lane, due_at) SELECT delivery_id, lane, now() FROM renewed),
{audited((SELECT -1::bigint AS n FROM renewed))}
SELECT 1,
    CASE WHEN EXISTS (SELECT FROM renewed) THEN {pg_code.done}
        WHEN EXISTS (
            SELECT FROM :schema.delivery
            WHERE delivery_id = :delivery_id::uuid AND state <> {delivery_state.pending} AND round <> :round::bigint
                AND :round::bigint > 0 AND {is_shown_delivery} AND (:project::text = '' OR project = :project::text))
        THEN {pg_code.stale}
        WHEN EXISTS (
            SELECT FROM :schema.delivery
            WHERE delivery_id = :delivery_id::uuid AND {is_shown_delivery}
                AND (:project::text = '' OR project = :project::text))
        THEN {pg_code.before} ELSE {pg_code.not_found} END,
    (SELECT count(*) FROM renewed), 0, NULL::uuid;

-- name: RESEND
-- What a delivery is sent from goes elsewhere, too, as another one.
WITH source AS (
    SELECT run_id, project, app, run_state FROM :schema.delivery
    WHERE delivery_id = :from::uuid AND run_id = :run_id::uuid AND {is_shown_delivery}
        AND (:project::text = '' OR project = :project::text)),
added AS (
    INSERT INTO :schema.delivery (delivery_id, run_id, project, app, run_state, lane, max_attempts, created_ms, url, secret)
    SELECT :delivery_id::uuid, run_id, project, app, run_state, :lane::bigint, :delivery_attempts::bigint, {now_ms},
        :url::bytea, :secret::bytea
    FROM source ON CONFLICT DO NOTHING
    RETURNING delivery_id, lane),
due AS (
    INSERT INTO :schema.delivery_ticket (delivery_id, lane, due_at) SELECT delivery_id, lane, now() FROM added),
{audited((SELECT -1::bigint AS n FROM added))}
SELECT 1, CASE WHEN EXISTS (SELECT FROM source) THEN {pg_code.done} ELSE {pg_code.not_found} END;

-- name: REDELIVER_MANY
-- Behind which delivery, and how many are looked at.
WITH looked AS MATERIALIZED (
    SELECT delivery_id FROM :schema.delivery
    WHERE project = :project::text AND state = :state::bigint AND delivery_id > :after::uuid
        AND delivery_id >= :from::uuid AND done_ms > :kept_since_ms::bigint
    ORDER BY delivery_id LIMIT :max::bigint),
renewed AS (
    UPDATE :schema.delivery d SET state = {delivery_state.pending}, round = d.round + 1, n = 0,
        max_attempts = :delivery_attempts::bigint, done_ms = {now_ms}
    FROM looked l WHERE d.delivery_id = l.delivery_id AND d.state = :state::bigint
    RETURNING d.delivery_id, d.lane),
due AS (
    INSERT INTO :schema.delivery_ticket (delivery_id, lane, due_at) SELECT delivery_id, lane, now() FROM renewed),
{audited((SELECT count(*) AS n FROM renewed HAVING count(*) > 0))}
SELECT 1, {pg_code.done}, (SELECT count(*) FROM renewed), (SELECT count(*) FROM looked) = :max::bigint,
    (SELECT delivery_id FROM looked ORDER BY delivery_id DESC LIMIT 1);
