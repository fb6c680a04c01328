"""The options of a real vLLM, and how they are read from its source."""
