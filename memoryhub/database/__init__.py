"""Database connections: their settings, the query planner's statistics, and the files of SQLite."""
