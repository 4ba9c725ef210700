"""The composition root: configuration in, a running bot out."""
