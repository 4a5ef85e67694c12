"""The gate: budgets, noise, the accountant, the ledger and the curator that answers through them."""
