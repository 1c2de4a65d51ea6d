"""What is logged, and in which form: filters of records and the format of a line."""
