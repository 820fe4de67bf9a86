"""One file per version; `desk_migrations` runs them."""
