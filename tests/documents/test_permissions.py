import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType

from documents.apps import make_group
from workspaces.models import Workspace
from workspaces.permissions import SUPPORT


@pytest.mark.usefixtures("as_owner")
def test_support_has_no_permission_of_another_app_with_the_same_codename(db: None) -> None:
    other = ContentType.objects.get_for_model(Workspace)
    Permission.objects.create(codename="view_auditentry", content_type=other, name="Another")
    make_group()
    found = Group.objects.get(name=SUPPORT).permissions
    names = list(found.values_list("content_type__app_label", "codename"))
    assert names == [("audit", "view_auditentry")]
