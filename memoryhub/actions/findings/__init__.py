"""Rules and findings of sensitive text, and scans."""
