"""All pages of a desk."""

from toprank.live.pages.account_pages import ACCOUNT_PAGES
from toprank.live.pages.audit_pages import AUDIT_PAGES
from toprank.live.pages.key_pages import KEY_PAGES
from toprank.live.pages.login_pages import LOGIN_PAGES
from toprank.live.pages.user_pages import USER_PAGES

PAGES = [
    *LOGIN_PAGES,
    *ACCOUNT_PAGES,
    *USER_PAGES,
    *KEY_PAGES,
    *AUDIT_PAGES,
]
"""Every route, with who may ask for it."""
