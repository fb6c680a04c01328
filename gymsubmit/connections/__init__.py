"""How a machine is reached: directly, or over SSH."""
