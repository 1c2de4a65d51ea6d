"""Decisions of reviewers."""
