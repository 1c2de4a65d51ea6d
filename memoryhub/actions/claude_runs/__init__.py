"""Claude runs: starting, continuing and stopping them, and what a worker writes down of them."""
