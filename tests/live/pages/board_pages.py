"""The pages of rules and of the monitor, on a small desk that has paid, alerted and labelled."""

from contextlib import contextmanager

from live.monitor import board_desk
from live.pages.browser import Browser, add_person, with_cheap_passwords
from live.web.asgi_client import AsgiClient
from toprank.live.monitor import log_digest
from toprank.live.people.desk_roles import ROLES
from toprank.live.rules.rule_trial_runs import RuleTrials, run_trial
from toprank.live.web.application import create_app
from toprank.live.web.desk_service import DeskService


class FinishedProcess:
    """A process that has ended when it is started."""

    def poll(self):
        return 0

    def wait(self):
        return 0


def finished_at_once(folder, number):
    run_trial(folder, number)
    return FinishedProcess()


@contextmanager
def served_board(folder, model, later):
    """A client of the desk, a person of each role, and how to log in."""
    desk, live = board_desk.made_desk(folder, model, later)
    log_digest.catch_up(desk.database, live.settings.alert_from)  # a page has no time for all
    service = with_cheap_passwords(DeskService(live))
    service.pages.trials = RuleTrials(desk.database, finished_at_once)
    for role in ROLES:
        add_person(service, role.replace("_", "-"), role)
    with AsgiClient(create_app(service)) as client:
        browsers = {}

        def as_role(role):
            if role not in browsers:
                browsers[role] = Browser(client, address=f"192.0.2.{len(browsers) + 1}")
                browsers[role].log_in(role)
            return browsers[role]

        yield service.pages, as_role
