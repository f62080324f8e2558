"""Total reward without discounting: where episodes end, whether the end can be avoided, and certified bounds."""
