"""What there is to see in a run: numbers, figures, and the explorer."""
