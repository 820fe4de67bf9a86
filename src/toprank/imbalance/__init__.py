"""What rare positives ask for around a ranker: calibration now; sampling, costs, thresholds."""
