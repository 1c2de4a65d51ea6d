"""What the machines' doors have in common: strict JSON, keys, and the errors of a request that is refused."""
