"""Findings of sensitive text, the rules and scans."""
