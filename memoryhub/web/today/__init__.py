"""The home page: dangers, work that awaits review, and changes that happened without a person."""
