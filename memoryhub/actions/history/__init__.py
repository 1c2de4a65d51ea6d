"""Past states, blame, and plans that restore or undo."""
