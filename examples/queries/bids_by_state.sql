-- Bids of the last ten minutes, by the state of the seller. Three streams are joined over two keys.
SELECT p.state, COUNT(*) AS bids, AVG(b.price) AS price
FROM   person p [UNBOUNDED], auction a [10 MINUTE SLIDE 10 SECOND], bid b [10 MINUTE SLIDE 10 SECOND]
WHERE  a.seller = p.id AND b.auction = a.id
GROUP BY p.state
