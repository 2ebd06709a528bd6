"""What the admin port lets be changed. Who may ask is the matter of `entrance`, as for everything below `/api`."""
