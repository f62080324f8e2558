"""What an environment is: its table, its vector form, wrappers, finding it and checking what it says."""
