"""What knows the outside world: sources, sinks, other libraries. mare finds it by entry points."""
