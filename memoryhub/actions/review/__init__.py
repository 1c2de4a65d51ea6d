"""Decisions of reviewers about versions and memories."""
