"""Agents and their keys."""
