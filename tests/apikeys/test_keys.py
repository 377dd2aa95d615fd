"""Keys without their pages: their names, and how many a workspace may have."""

from datetime import timedelta
from functools import partial

import pytest
from django.core.exceptions import ValidationError

from apikeys import keys
from apikeys.models import ApiKey
from tests.support import factories
from tests.support.database import refused_at_once
from tests.support.factories import Tenant


@pytest.mark.parametrize("name", ["a\ud800b", "a\u2028b", "a\u2029b", "a\nb", "a\u202eb", "  "])
def test_key_name_has_text_and_no_control_characters(name: str) -> None:
    """No form can send the first of these."""
    with pytest.raises(ValidationError, match="control characters|1 to 100"):
        keys.clean_name(name)


@pytest.mark.django_db(transaction=True)
def test_two_creations_at_once_do_not_pass_the_limit_and_two_rolls_make_one_key(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert keys.MOST_ACTIVE == 100
    monkeypatch.setattr(keys, "MOST_ACTIVE", 2)
    issue = partial(factories.issue, acme.workspace, by=acme.admin)
    assert len(refused_at_once(issue, ["One more", "Another"])) == 1
    assert ApiKey.objects.count() == 2
    # The limit would let both rolls pass.
    ApiKey.objects.exclude(pk=acme.key.pk).get().revoke(by=acme.admin)
    roll = partial(ApiKey.roll, by=acme.admin, ends_in=timedelta())
    assert len(refused_at_once(roll, [acme.key, ApiKey.objects.get(pk=acme.key.pk)])) == 1
    assert ApiKey.objects.count() == 3
