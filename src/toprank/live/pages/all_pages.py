"""All pages of a desk."""

from toprank.live.pages.account_pages import ACCOUNT_PAGES
from toprank.live.pages.login_pages import LOGIN_PAGES

PAGES = [
    *LOGIN_PAGES,
    *ACCOUNT_PAGES,
]
"""Every route, with who may ask for it."""
