"""Benchmarks of the product, beside what others offer: `python -m benchmarks` runs them all."""
