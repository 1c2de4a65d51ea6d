"""Dashboards: figures, charts and lists."""
