"""Where data comes from: databases, folders, frames. Each is a `mare.ports.Source`."""
