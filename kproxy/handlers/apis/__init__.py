"""The served APIs: one module for each, with the aids of several of them beside."""
