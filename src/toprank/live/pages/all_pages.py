"""All pages of a desk."""

from toprank.live.pages.account_pages import ACCOUNT_PAGES
from toprank.live.pages.alarm_pages import ALARM_PAGES
from toprank.live.pages.audit_pages import AUDIT_PAGES
from toprank.live.pages.card_page import CARD_PAGES
from toprank.live.pages.day_page import DAY_PAGES
from toprank.live.pages.decisions_page import DECISIONS_PAGES
from toprank.live.pages.key_pages import KEY_PAGES
from toprank.live.pages.live_pages import LIVE_PAGES
from toprank.live.pages.login_pages import LOGIN_PAGES
from toprank.live.pages.model_pages import MODEL_PAGES
from toprank.live.pages.monitor_pages import MONITOR_PAGES
from toprank.live.pages.queue_page import QUEUE_PAGES
from toprank.live.pages.rule_editor import EDITOR_PAGES
from toprank.live.pages.rules_pages import RULES_PAGES
from toprank.live.pages.search_page import SEARCH_PAGES
from toprank.live.pages.trial_pages import TRIAL_PAGES
from toprank.live.pages.user_pages import USER_PAGES
from toprank.live.pages.verdict_pages import VERDICT_PAGES

PAGES = [
    *LOGIN_PAGES,
    *ACCOUNT_PAGES,
    *QUEUE_PAGES,
    *CARD_PAGES,
    *VERDICT_PAGES,
    *LIVE_PAGES,
    *SEARCH_PAGES,
    *DAY_PAGES,
    *DECISIONS_PAGES,
    *RULES_PAGES,
    *EDITOR_PAGES,
    *TRIAL_PAGES,
    *MODEL_PAGES,
    *MONITOR_PAGES,
    *ALARM_PAGES,
    *USER_PAGES,
    *KEY_PAGES,
    *AUDIT_PAGES,
]
"""Every route, with who may ask for it."""
