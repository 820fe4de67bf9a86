"""The description of the API is true: what it calls valid is taken, all else is refused."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks as openapi_checks

from live.web.fake_desk import FakeDesk
from toprank.live.web.application import create_app


def valid_is_taken(_, response, case):
    """What is as described is refused only for what a description cannot say."""
    if case.meta.generation.mode is GenerationMode.POSITIVE and response.status_code == 422:
        error = response.json()["error"]
        for each in error.get("errors", [error]):
            is_day_of_no_month = each.get("field") in ("paid_at", "expires", "known_at")
            assert is_day_of_no_month or each["code"] == "unknown_field", each


CHECKS = (
    valid_is_taken,
    not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
)
OPERATIONS = [
    "POST /v1/payments", "POST /v1/labels", "GET /v1/payments/{id}", "GET /v1/alerts",
    "GET /health", "GET /ready", "GET /metrics",
]  # fmt: skip
WITH_INPUT = OPERATIONS[:4]


@pytest.fixture(scope="module")
def described(stored):
    """The description as schemathesis reads it, and the key."""
    desk = FakeDesk(*stored, is_tokenising=True, clock="payments")
    app = create_app(desk, hosts=None)
    return schemathesis.openapi.from_asgi("/openapi.json", app), desk.key


def check_operation(described, operation, mode, n_examples):
    """Send requests made from the description; hold the answers against it."""
    schema, key = described
    method, path = operation.split()
    # of an address, parameters that are wrong may be lost on the way to it
    refused = [openapi_checks.negative_data_rejection] if method == "POST" else []

    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    @settings(max_examples=n_examples, deadline=None, suppress_health_check=list(HealthCheck))
    def check(case):
        case.call_and_validate(
            headers={"Authorization": f"Bearer {key}"}, checks=[*CHECKS, *refused]
        )

    check()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_requests_as_described_get_answers_as_described(described, operation):
    check_operation(described, operation, GenerationMode.POSITIVE, n_examples=10)


@pytest.mark.parametrize("operation", WITH_INPUT)
def test_requests_that_are_not_as_described_are_refused(described, operation):
    check_operation(described, operation, GenerationMode.NEGATIVE, n_examples=20)


@pytest.mark.slow
@pytest.mark.parametrize("mode", GenerationMode, ids=str)
@pytest.mark.parametrize("operation", WITH_INPUT)
def test_many_requests_get_answers_as_described(described, operation, mode):
    check_operation(described, operation, mode, n_examples=60)


def test_every_operation_is_tried(client):
    paths = client.get("/openapi.json").json["paths"]
    found = [f"{method.upper()} {path}" for path, each in paths.items() for method in each]
    assert sorted(found) == sorted(OPERATIONS)


def test_the_fields_of_the_desk_are_described(client):
    payments = client.get("/openapi.json").json["components"]["schemas"]["Payment"]
    assert payments["required"] == ["tx", "card", "shop", "paid_at", "amount"]
    assert payments["properties"]["country"]["type"] == ["string", "null"]
    assert payments["properties"]["amount"]["maximum"] == 2**53
