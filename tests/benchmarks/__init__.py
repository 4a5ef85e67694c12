"""`make bench`: how fast mare is, as ratios against a reference measured in the same run."""
