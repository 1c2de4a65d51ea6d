"""Web pages of the dashboards: figures, charts and lists."""
