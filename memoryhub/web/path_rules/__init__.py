"""The pages of path rules: what agents may change in a memory store, why, and the effect that other rules would have
had."""
