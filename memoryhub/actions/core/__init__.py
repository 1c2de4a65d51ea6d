"""Code that every room of the actions imports: transactions, the memory tree, the audit."""
