SELECT  location, COUNT(*)  FROM  A[10 MINUTE], B[10 MINUTE] 
WHERE  A.location=B.location and A.temperature>=40 and B.strength>0.6 
GROUP BY  location 
HAVING  COUNT(*)>5.
