SELECT  COUNT(*) 
FROM   A[60 MINUTE], B[60 MINUTE] 
WHERE  A.src=B.src AND A.dest=B.dest
