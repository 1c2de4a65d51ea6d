"""Acts on memory stores: create, edit, archive and delete."""
