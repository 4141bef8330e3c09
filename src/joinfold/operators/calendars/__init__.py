"""When cells enter and leave windows, and at which instants a query answers."""
