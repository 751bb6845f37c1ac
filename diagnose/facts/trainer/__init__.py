"""What trains: framework and version, algorithm, data sets, the files that projects ship."""
