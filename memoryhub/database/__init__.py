"""The database as Django reaches it: settings of a connection, statistics of the planner, the files of SQLite."""
