import pytest

from live import desks
from live.pages.browser import Browser, add_person, with_cheap_passwords
from live.pages.shifts import SETTINGS, Shift
from live.web.fake_desk import FakeDesk, client_of, with_key
from toprank.live.people.desk_roles import ROLES


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A desk with pages and a person of each role, called as the role without underscores."""
    database, key = with_key(tmp_path_factory.mktemp("pages"))
    made = with_cheap_passwords(FakeDesk(database, key))
    for role in ROLES:
        add_person(made, role.replace("_", "-"), role)
    yield made
    database.close()


@pytest.fixture(scope="module")
def client(desk):
    with client_of(desk) as client:
        yield client


@pytest.fixture
def browser(client, request):
    return Browser(client, address=f"192.0.2.{len(request.node.name) % 250}")


@pytest.fixture(scope="module")
def shift(model_file, later, tmp_path_factory):
    """A desk with cards on its list, an investigator, a colleague, a senior and an auditor."""
    folder = tmp_path_factory.mktemp("shift")
    with Shift(desks.new_desk(folder / "desk", model_file, **SETTINGS), later) as made:
        yield made
