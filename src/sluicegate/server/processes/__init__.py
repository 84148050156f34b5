"""Several processes that serve as one: see docs/design/processes.md."""
