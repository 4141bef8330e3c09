-- Joins each window of five thousand rows with the five-minute window of the same number, whenever each stream began.
SELECT COUNT(*) AS pairs
FROM   S1 [ROWS 5000 SLIDE 1000], S2 [5 MINUTE SLIDE 1 MINUTE]
WHERE  S1.k = S2.k
SYNC ON WINDOW ID
