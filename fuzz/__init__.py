"""Coverage-guided fuzzing of every format: `python -m fuzz --help`."""
