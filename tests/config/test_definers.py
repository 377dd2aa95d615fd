"""No function that runs as the owner can be made to run somebody else's code.

`test_guards.py` has who may execute them, and `test_roles.py` that the role that serves makes no
tables.
"""

import pytest
from django.db import DatabaseError

from tests.support.database import execute
from tests.support.factories import Tenant

# A table of the attacker's whose column's type runs the attacker's code in whoever sets it.
BAIT = (
    """
    CREATE FUNCTION pg_temp.evil(timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        IF current_user = 'documents_owner' THEN
            ALTER TABLE public.audit_auditentry DISABLE TRIGGER audit_append_only;
            UPDATE public.audit_auditentry SET person = 'eve';
        END IF;
        RETURN true;
    END $$
    """,
    "CREATE DOMAIN pg_temp.evil_time AS timestamptz CHECK (pg_temp.evil(VALUE))",
    "CREATE TEMPORARY TABLE bait (id bigint, created_at pg_temp.evil_time)",
)
DEFINERS = {"audit_stamp()", "events_added()", "events_changed()"}


@pytest.mark.usefixtures("as_owner")
@pytest.mark.parametrize("function", sorted(DEFINERS))
def test_function_of_the_owner_refuses_any_other_table(acme: Tenant, function: str) -> None:
    execute(*BAIT)
    when = "BEFORE" if function == "audit_stamp()" else "AFTER"
    execute(
        f"CREATE TRIGGER mine {when} INSERT ON bait FOR EACH ROW EXECUTE FUNCTION public.{function}"
    )
    with pytest.raises(DatabaseError, match="is for .* only"):
        execute("INSERT INTO bait (id) VALUES (1)")
