"""The pages of path rules: what agents may change in a memory store, why, and what other rules would have done."""
