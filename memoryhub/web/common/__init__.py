"""What several rooms of the pages share."""
