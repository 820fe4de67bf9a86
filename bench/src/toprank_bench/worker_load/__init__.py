"""Workers on a NATS server against one process: equality, throughput, kills."""
