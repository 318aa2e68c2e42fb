"""Chromium: found or fetched, JupyterLab in it, and how fast the views answer there."""
