"""What is stored of a random secret (a key, a cookie, a link): its hash, by which it is found.

A slow hash, as for passwords, would protect nothing: a secret has 256 random bits, which cannot be
guessed however fast each guess is checked, and it would cost more than a decision. It is found by
its hash, so comparing takes no time that depends on how much of a guess is right.
"""

import hashlib


def hash_of(secret: str) -> str:
    """Return the hash of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
