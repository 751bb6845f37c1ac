"""Which cards, engines and sizes belong to which role."""
