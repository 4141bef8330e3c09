-- Bids of the last ten minutes, by the state of the seller. The sellers are in a table.
SELECT p.state, COUNT(*) AS bids, MAX(b.price) AS highest
FROM   bid b [10 MINUTE SLIDE 1 MINUTE], auction a [UNBOUNDED], person p
WHERE  b.auction = a.id AND a.seller = p.id
GROUP BY p.state
