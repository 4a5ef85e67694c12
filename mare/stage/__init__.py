"""The staging database: truncation, order, contexts, and the exact counts behind the gate. Secret by nature."""
