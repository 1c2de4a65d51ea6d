"""The home page: dangers, versions and proposals that await review, and changes without a person."""
