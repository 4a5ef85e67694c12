"""Where synthetic data goes. Each is a `mare.ports.Sink`: complete, or not there at all."""
