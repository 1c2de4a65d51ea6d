"""The pages of path rules: what agents may change in a memory store, and what other rules would do."""
