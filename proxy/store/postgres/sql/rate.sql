-- rate.sql - limits that replicas share: each borrows of a rate ahead, and holds permits of calls at once.

-- name: RATE_LEND
-- A row for each that asks: what it is lent of :most in :window_ms, and how many replicas there are. Rows are locked in
-- one order, whoever asks.
WITH alive AS MATERIALIZED (
    SELECT greatest(count(*), 1) AS n FROM :schema.node WHERE NOT is_dead AND expires_at > now()),
input AS MATERIALIZED (
    SELECT * FROM unnest(:rate_of::uuid[], :most::bigint[], :window_ms::bigint[], :wanted::bigint[], :had::bigint[],
        :back::bigint[], :owed::bigint[], :was_until_ms::bigint[])
        WITH ORDINALITY AS t(whose, most, window_ms, wanted, had, back, owed, was_until_ms, ord)
    ORDER BY whose)
SELECT i.ord, a.n, l.lent, l.rest, l.until_ms, l.left_ms
FROM input i CROSS JOIN alive a CROSS JOIN LATERAL :schema.lend(
    i.whose, i.most, i.window_ms, i.wanted, i.had, i.back, i.owed, i.was_until_ms, a.n) AS l;

-- name: PERMIT_HOLD
-- A row for each that speaks: it holds :had permits of :most, of which :inside are used, and wants more where :wanted is 1.
-- How many replicas there are; how many it holds then; how many nobody holds, how many others hold and did not use when they
-- spoke last; whether these were told. Rows are locked in one order, whoever speaks.
WITH input AS MATERIALIZED (
    SELECT * FROM unnest(:permits_of::uuid[], :most::bigint[], :had::bigint[], :inside::bigint[], :wanted::bigint[])
        WITH ORDINALITY AS t(whose, most, mine, used, wanted, ord)
    ORDER BY whose)
SELECT i.ord, h.replicas, h.has, h.rest, h.idle, h.is_told::integer::bigint
FROM input i CROSS JOIN LATERAL :schema.hold(i.whose, :me::uuid, i.most, i.mine, i.used, i.wanted = 1) AS h;
