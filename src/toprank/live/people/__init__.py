"""Who works at a desk: accounts, roles and what each may do, logins and sessions."""
