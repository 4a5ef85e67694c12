"""Worlds that nobody tuned to: real databases and generated ones, with schemas written from documentation alone."""
