-- Packets of the last minute between the same two hosts, seen at both places. A sample of the connections is held where
-- all would not fit: pairs_low and pairs_high say how far off the count may be, and kept is 1 as long as it is exact.
SELECT COUNT(*) AS pairs, SUM(b.bytes) AS traffic
FROM   backbone a [1 MINUTE SLIDE 5 SECOND], branch b [1 MINUTE SLIDE 5 SECOND]
WHERE  a.src = b.src AND a.dest = b.dest
SHED TO HOLD 50000 ROWS
