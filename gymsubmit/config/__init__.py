"""The submit config: read from YAML, validated, and checked across its fields."""
