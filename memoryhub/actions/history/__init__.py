"""Past states, blame, and the plans that restore and undo."""
