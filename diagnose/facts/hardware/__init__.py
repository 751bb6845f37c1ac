"""Cards, machines and host memory: what the run stands on."""
