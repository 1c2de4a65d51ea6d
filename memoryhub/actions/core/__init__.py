"""What every room of the actions builds on: transactions, the tree, the audit."""
