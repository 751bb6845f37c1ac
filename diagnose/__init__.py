"""The pure core: from a paste to a diagnosis. No clock, no database, no network, no Django."""
