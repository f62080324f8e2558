"""What all layers stand on: compilation, threads, clocks, checks and files."""
