"""What more data would say: rows that do not exist yet, drawn from what is believed now."""
