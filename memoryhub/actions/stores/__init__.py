"""Acts on memory stores."""
