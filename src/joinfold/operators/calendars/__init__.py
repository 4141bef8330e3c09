"""When cells enter and leave windows, and at which instants there is something to answer."""
