"""Claude runs: starting, continuing and stopping them, and the rows that a worker writes about them."""
