"""The rules for sensitive text, its findings, and scans."""
