"""Suites that others wrote, and cases that follow the standards."""
