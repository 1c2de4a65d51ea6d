"""Web pages of findings of sensitive text, their rules and scans."""
