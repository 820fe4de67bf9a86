"""All pages of a desk."""

from toprank.live.pages.login_pages import LOGIN_PAGES

PAGES = [
    *LOGIN_PAGES,
]
"""Every route, with who may ask for it."""
