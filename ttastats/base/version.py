"""Which version is this? The one place that says so."""

__version__ = "0.1.0"
