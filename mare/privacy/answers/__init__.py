"""The kinds of answers, one a module. Each validates, quotes, pays, counts and releases through the curator's `Till`."""
