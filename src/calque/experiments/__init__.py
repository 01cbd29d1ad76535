"""Many runs made, kept and reported: the paper's tables and sweeps."""
