"""The load of all instances on the start page of operators."""

from datetime import timedelta
from types import ModuleType

from django.db.models import F, Sum
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apikeys.usage import purge, traffic
from apikeys.usage.models import Traffic
from tests.support import staff
from tests.support.factories import Tenant

START = reverse("admin:index")


def test_requests_and_failures_of_all_processes_are_added_up(
    acme: Tenant, flusher: ModuleType, client: Client
) -> None:
    now = timezone.now().timestamp()
    for _ in range(2):  # as two processes
        for number in range(50):
            traffic.add(503 if number == 0 else 200, 0.3 if number > 46 else 0.007, now)
        flusher.flush()
    assert traffic.figures() == [
        ("Requests to the API", ["100", "100"]),
        ("95 % of them took at most", ["500 ms", "500 ms"]),
        ("Failed (5xx)", ["2.00%", "2.00%"]),
    ]
    Traffic.objects.update(period=F("period") - timedelta(hours=2))
    assert [texts[0] for _, texts in traffic.figures()] == ["0", "–", "0.00%"]
    traffic.add(200, 99, now)
    flusher.flush()
    assert traffic.figures()[1] == ("95 % of them took at most", ["over 10 s", "500 ms"])


def test_each_request_to_the_api_is_counted_and_no_page(acme: Tenant, flusher: ModuleType) -> None:
    acme.get("/me")
    acme.get("/me", token="dtd_nothing")
    acme.get("/nothing")
    Client().get("/admin/login/")
    flusher.flush()
    assert Traffic.objects.aggregate(Sum("requests"), Sum("failed")) == {
        "requests__sum": 3,
        "failed__sum": 0,
    }


def test_traffic_is_deleted_after_two_days(flusher: ModuleType) -> None:
    now = timezone.now()
    for days in (1, 3):
        traffic.add(200, 0.1, (now - timedelta(days=days)).timestamp())
    flusher.flush()
    assert not purge.purge()
    assert Traffic.objects.get().period > now - timedelta(days=2)


def test_only_operators_see_the_figures(acme: Tenant, client: Client) -> None:
    for user, sees in ((staff.operator(), True), (staff.support(), False), (acme.admin, False)):
        client.force_login(user)
        page = client.get(START).content.decode()
        assert ("95 % of them took at most" in page) == sees
