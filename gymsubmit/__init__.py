"""One YAML file to a Slurm job that serves models and evaluates them."""

__version__ = "0.1.0"
