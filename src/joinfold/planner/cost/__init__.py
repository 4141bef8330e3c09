"""What a plan of joinfold's own costs: amounts of operations, times what an operation costs on this machine."""
