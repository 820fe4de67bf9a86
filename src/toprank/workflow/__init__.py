"""What the commands call: train, evaluate, list the alerts, compare."""
