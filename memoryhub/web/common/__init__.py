"""Code that several rooms of the web pages share."""
