SET timezone = 'UTC';
SET search_path = public;
CREATE FUNCTION public._pgtrigger_should_ignore(trigger_name name) RETURNS boolean
 LANGUAGE plpgsql
 AS $$
 DECLARE
 _pgtrigger_ignore TEXT[];
 _result BOOLEAN;
 BEGIN
 BEGIN
 SELECT INTO _pgtrigger_ignore
 CURRENT_SETTING('pgtrigger.ignore');
 EXCEPTION WHEN OTHERS THEN
 END;
 IF _pgtrigger_ignore IS NOT NULL THEN
 SELECT trigger_name = ANY(_pgtrigger_ignore)
 INTO _result;
 RETURN _result;
 ELSE
 RETURN FALSE;
 END IF;
 END;
 $$;
 CREATE FUNCTION public.audit_refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION '% of % is refused: rows are only added', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END
$$;
CREATE FUNCTION public.audit_stamp() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    IF TG_RELID <> 'public.audit_auditentry'::regclass THEN
        RAISE EXCEPTION 'audit_stamp is for audit_auditentry only';
    END IF;
    PERFORM pg_current_xact_id();
    NEW.id := nextval('public.audit_auditentry_id_seq');
    NEW.created_at := clock_timestamp();
    RETURN NEW;
END
$$;
CREATE FUNCTION public.documents_counts_added_removed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    change integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    INSERT INTO public.workspaces_documentcount (workspace_id, status, count)
    SELECT workspace_id, status, change * count(*) FROM changed WHERE deleted_at IS NULL
    GROUP BY workspace_id, status;
    IF random() * 100 < 1 THEN
        PERFORM public.workspaces_fold_counts(ARRAY(SELECT DISTINCT workspace_id FROM changed));
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.documents_counts_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (OLD.status, OLD.deleted_at IS NULL, OLD.workspace_id)
            = (NEW.status, NEW.deleted_at IS NULL, NEW.workspace_id) THEN
        RETURN NULL;
    END IF;
    INSERT INTO public.workspaces_documentcount (workspace_id, status, count)
    SELECT workspace_id, status, change FROM (VALUES
        (OLD.workspace_id, OLD.status, -1, OLD.deleted_at),
        (NEW.workspace_id, NEW.status, 1, NEW.deleted_at)
    ) AS changes (workspace_id, status, change, deleted_at) WHERE deleted_at IS NULL;
    IF random() * 100 < 1 THEN
        DECLARE
            folded uuid[] := coalesce(nullif(current_setting('documents.fold', true), ''), '{}');
            changed uuid[] := ARRAY[OLD.workspace_id, NEW.workspace_id];
        BEGIN
            IF NOT folded @> changed THEN
                PERFORM set_config('documents.fold', (folded || changed)::text, true);
            END IF;
        END;
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.documents_counts_fold() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF current_setting('documents.fold', true) <> '' THEN
        PERFORM public.workspaces_fold_counts(current_setting('documents.fold')::uuid[]);
        PERFORM set_config('documents.fold', '', true);
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.documents_counts_truncated() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    -- Waits for those who are folding: the next statement sees the rows that they have added.
    LOCK TABLE public.workspaces_documentcount IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM public.workspaces_documentcount;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.events_added() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    own bigint := pg_current_xact_id()::text::bigint;
BEGIN
    IF TG_RELID <> 'public.documents_document'::regclass THEN
        RAISE EXCEPTION 'events_added is for documents_document only';
    END IF;
    INSERT INTO public.events_event
        (transaction, uuid, workspace_id, type, occurred_at, document_id, status)
    SELECT greatest(own, (
            SELECT max(transaction) FROM public.events_event WHERE document_id = added.id
        )), gen_random_uuid(), added.workspace_id, event.type, clock_timestamp(), added.id,
        added.status
    FROM added CROSS JOIN LATERAL (VALUES
        (1, 'document.created'), (2, 'document.' || lower(nullif(added.status, 'DRAFT')))
    ) AS event (number, type)
    WHERE added.deleted_at IS NULL AND event.type IS NOT NULL
    ORDER BY added.created_at, added.id, event.number;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.events_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    own bigint := pg_current_xact_id()::text::bigint;
    before boolean;
    after boolean;
    stays boolean;
BEGIN
    IF TG_RELID <> 'public.documents_document'::regclass THEN
        RAISE EXCEPTION 'events_changed is for documents_document only';
    END IF;
    before := OLD.deleted_at IS NULL;
    after := TG_OP = 'UPDATE' AND NEW.deleted_at IS NULL;
    stays := before AND after AND OLD.workspace_id = NEW.workspace_id;
    IF before AND NOT stays THEN
        
        INSERT INTO public.events_event
            (transaction, uuid, workspace_id, type, occurred_at, document_id, status)
        VALUES (
            greatest(own, (
                SELECT max(transaction) FROM public.events_event WHERE document_id = OLD.id
            )),
            gen_random_uuid(), OLD.workspace_id, 'document.deleted', clock_timestamp(), OLD.id, OLD.status
        );
    END IF;
    IF after AND NOT stays THEN
        
        INSERT INTO public.events_event
            (transaction, uuid, workspace_id, type, occurred_at, document_id, status)
        VALUES (
            greatest(own, (
                SELECT max(transaction) FROM public.events_event WHERE document_id = OLD.id
            )),
            gen_random_uuid(), NEW.workspace_id, 'document.created', clock_timestamp(), OLD.id, NEW.status
        );
    END IF;
    IF after AND NEW.status <> 'DRAFT' THEN
        
        INSERT INTO public.events_event
            (transaction, uuid, workspace_id, type, occurred_at, document_id, status)
        VALUES (
            greatest(own, (
                SELECT max(transaction) FROM public.events_event WHERE document_id = OLD.id
            )),
            gen_random_uuid(), NEW.workspace_id, 'document.' || lower(NEW.status), clock_timestamp(), OLD.id, NEW.status
        );
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.pgtrigger_append_only_6cfb3() RETURNS trigger
 LANGUAGE plpgsql
 AS $$
 BEGIN
 IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
 IF (TG_OP = 'DELETE') THEN
 RETURN OLD;
 ELSE
 RETURN NEW;
 END IF;
 END IF;
 RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;
 END;
 $$;
 CREATE FUNCTION public.pgtrigger_count_added_752ea() RETURNS trigger
 LANGUAGE plpgsql
 AS $$
 DECLARE folded UUID;
 BEGIN
 IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
 IF (TG_OP = 'DELETE') THEN
 RETURN OLD;
 ELSE
 RETURN NEW;
 END IF;
 END IF;
 INSERT INTO workspaces_documentcount (workspace_id, status, count)
 SELECT workspace_id, status, sum(change) FROM (SELECT workspace_id, status, 1 AS change FROM added WHERE deleted_at IS NULL) AS changes
 GROUP BY workspace_id, status HAVING sum(change) <> 0;
 -- A transaction that sees one state of the database throughout could not take away rows that
 -- another has folded meanwhile: it leaves folding to the others.
 IF random() * 50 < 1 AND current_setting('transaction_isolation') = 'read committed' THEN
 SELECT workspace_id INTO folded FROM (SELECT workspace_id, status, 1 AS change FROM added WHERE deleted_at IS NULL) AS changes LIMIT 1;
 IF pg_try_advisory_xact_lock(hashtextextended('documentcount ' || folded, 0)) THEN
 WITH gone AS (
 DELETE FROM workspaces_documentcount WHERE workspace_id = folded
 RETURNING status, count
 )
 INSERT INTO workspaces_documentcount (workspace_id, status, count)
 SELECT folded, status, sum(count) FROM gone GROUP BY status HAVING sum(count) <> 0;
 END IF;
 END IF;
 RETURN NULL;
 END;
 $$;
 CREATE FUNCTION public.pgtrigger_count_changed_dfaa4() RETURNS trigger
 LANGUAGE plpgsql
 AS $$
 DECLARE folded UUID;
 BEGIN
 IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
 IF (TG_OP = 'DELETE') THEN
 RETURN OLD;
 ELSE
 RETURN NEW;
 END IF;
 END IF;
 INSERT INTO workspaces_documentcount (workspace_id, status, count)
 SELECT workspace_id, status, sum(change) FROM (SELECT workspace_id, status, 1 AS change FROM added WHERE deleted_at IS NULL UNION ALL SELECT workspace_id, status, -1 AS change FROM removed WHERE deleted_at IS NULL) AS changes
 GROUP BY workspace_id, status HAVING sum(change) <> 0;
 -- A transaction that sees one state of the database throughout could not take away rows that
 -- another has folded meanwhile: it leaves folding to the others.
 IF random() * 50 < 1 AND current_setting('transaction_isolation') = 'read committed' THEN
 SELECT workspace_id INTO folded FROM (SELECT workspace_id, status, 1 AS change FROM added WHERE deleted_at IS NULL UNION ALL SELECT workspace_id, status, -1 AS change FROM removed WHERE deleted_at IS NULL) AS changes LIMIT 1;
 IF pg_try_advisory_xact_lock(hashtextextended('documentcount ' || folded, 0)) THEN
 WITH gone AS (
 DELETE FROM workspaces_documentcount WHERE workspace_id = folded
 RETURNING status, count
 )
 INSERT INTO workspaces_documentcount (workspace_id, status, count)
 SELECT folded, status, sum(count) FROM gone GROUP BY status HAVING sum(count) <> 0;
 END IF;
 END IF;
 RETURN NULL;
 END;
 $$;
 CREATE FUNCTION public.pgtrigger_count_removed_38e8a() RETURNS trigger
 LANGUAGE plpgsql
 AS $$
 DECLARE folded UUID;
 BEGIN
 IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
 IF (TG_OP = 'DELETE') THEN
 RETURN OLD;
 ELSE
 RETURN NEW;
 END IF;
 END IF;
 INSERT INTO workspaces_documentcount (workspace_id, status, count)
 SELECT workspace_id, status, sum(change) FROM (SELECT workspace_id, status, -1 AS change FROM removed WHERE deleted_at IS NULL) AS changes
 GROUP BY workspace_id, status HAVING sum(change) <> 0;
 -- A transaction that sees one state of the database throughout could not take away rows that
 -- another has folded meanwhile: it leaves folding to the others.
 IF random() * 50 < 1 AND current_setting('transaction_isolation') = 'read committed' THEN
 SELECT workspace_id INTO folded FROM (SELECT workspace_id, status, -1 AS change FROM removed WHERE deleted_at IS NULL) AS changes LIMIT 1;
 IF pg_try_advisory_xact_lock(hashtextextended('documentcount ' || folded, 0)) THEN
 WITH gone AS (
 DELETE FROM workspaces_documentcount WHERE workspace_id = folded
 RETURNING status, count
 )
 INSERT INTO workspaces_documentcount (workspace_id, status, count)
 SELECT folded, status, sum(count) FROM gone GROUP BY status HAVING sum(count) <> 0;
 END IF;
 END IF;
 RETURN NULL;
 END;
 $$;
 CREATE FUNCTION public.pgtrigger_count_truncated_1bc07() RETURNS trigger
 LANGUAGE plpgsql
 AS $$
 BEGIN
 IF ("public"._pgtrigger_should_ignore(TG_NAME) IS TRUE) THEN
 IF (TG_OP = 'DELETE') THEN
 RETURN OLD;
 ELSE
 RETURN NEW;
 END IF;
 END IF;
 DELETE FROM workspaces_documentcount; RETURN NULL;
 END;
 $$;
 CREATE FUNCTION public.webhooks_add_deliveries() RETURNS trigger
 LANGUAGE plpgsql
 AS $$
BEGIN
    IF EXISTS (SELECT 
    FROM public.webhooks_endpoint
    WHERE workspace_id = NEW.workspace_id AND enabled AND deleted_at IS NULL
        AND NEW.type = ANY (types)
) THEN
        INSERT INTO public.webhooks_delivery (endpoint_id, event_id, type, occurred_at,
            document_id, status, sequence, state, attempts)
        SELECT id, NEW.uuid, NEW.type, NEW.occurred_at, NEW.document_id, NEW.status, NEW.id,
            'PENDING', 0
        
    FROM public.webhooks_endpoint
    WHERE workspace_id = NEW.workspace_id AND enabled AND deleted_at IS NULL
        AND NEW.type = ANY (types)
;
    END IF;
    RETURN NULL;
END
$$;
CREATE FUNCTION public.workspaces_fold_counts(folded uuid[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF current_setting('transaction_isolation') = 'read committed' THEN
        WITH gone AS (
            DELETE FROM public.workspaces_documentcount WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM public.workspaces_documentcount
                WHERE workspace_id = ANY (folded) FOR UPDATE SKIP LOCKED
            )) RETURNING workspace_id, status, count
        )
        INSERT INTO public.workspaces_documentcount (workspace_id, status, count)
        SELECT workspace_id, status, sum(count) FROM gone
        GROUP BY workspace_id, status HAVING sum(count) <> 0;
    END IF;
END
$$;
CREATE TABLE apikeys_apikey (
 id uuid NOT NULL,
 name varchar(100) NOT NULL,
 prefix varchar(12) NOT NULL,
 digest varchar(64) NOT NULL,
 created_at timestamptz NOT NULL,
 last_used_at timestamptz,
 revoked_at timestamptz,
 created_by_id integer,
 revoked_by_id integer,
 workspace_id uuid NOT NULL,
 expires_at timestamptz,
 last_used_address varchar(45) DEFAULT ''::varchar NOT NULL,
 last_used_client varchar(500) DEFAULT ''::varchar NOT NULL,
 note varchar(200) DEFAULT ''::varchar NOT NULL,
 replaced_by_id uuid
);
CREATE TABLE audit_auditentry (
 id bigint NOT NULL,
 created_at timestamptz DEFAULT statement_timestamp() NOT NULL,
 action varchar(40) NOT NULL,
 workspace_id uuid,
 workspace_name varchar(200) NOT NULL,
 person varchar(254) NOT NULL,
 member varchar(254) NOT NULL,
 detail varchar(1000) NOT NULL,
 key_id uuid,
 key_name varchar(100) NOT NULL,
 key_prefix varchar(12) NOT NULL,
 document_id uuid,
 document_title varchar(500) NOT NULL,
 file_type varchar(20) NOT NULL,
 file_sha256 varchar(64) NOT NULL,
 byte_range varchar(60) NOT NULL,
 bytes_sent bigint,
 address varchar(45) NOT NULL,
 user_agent varchar(500) NOT NULL,
 request_id varchar(32) NOT NULL,
 occurred_at timestamptz
);
CREATE SEQUENCE audit_auditentry_id_seq
 CACHE 1;
ALTER SEQUENCE audit_auditentry_id_seq OWNED BY audit_auditentry.id;
CREATE TABLE audit_checkpoint (
 size bigint NOT NULL,
 sealed_at timestamptz NOT NULL,
 note text NOT NULL,
 complete_to bigint NOT NULL,
 next_complete_to bigint NOT NULL,
 next_transaction bigint NOT NULL
);
CREATE TABLE audit_leaf (
 index bigint NOT NULL,
 entry_id bigint NOT NULL,
 hash bytea NOT NULL
);
CREATE TABLE audit_subtree (
 level smallint NOT NULL,
 index bigint NOT NULL,
 hash bytea NOT NULL
);
CREATE TABLE auth_group (
 id integer NOT NULL,
 name varchar(150) NOT NULL
);
ALTER TABLE auth_group ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE auth_group_permissions (
 id bigint NOT NULL,
 group_id integer NOT NULL,
 permission_id integer NOT NULL
);
ALTER TABLE auth_group_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE auth_permission (
 id integer NOT NULL,
 name varchar(255) NOT NULL,
 content_type_id integer NOT NULL,
 codename varchar(100) NOT NULL
);
ALTER TABLE auth_permission ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE auth_user (
 id integer NOT NULL,
 password varchar(128) NOT NULL,
 last_login timestamptz,
 is_superuser boolean NOT NULL,
 username varchar(150) NOT NULL,
 first_name varchar(150) NOT NULL,
 last_name varchar(150) NOT NULL,
 email varchar(254) NOT NULL,
 is_staff boolean NOT NULL,
 is_active boolean NOT NULL,
 date_joined timestamptz NOT NULL
);
CREATE TABLE auth_user_groups (
 id bigint NOT NULL,
 user_id integer NOT NULL,
 group_id integer NOT NULL
);
ALTER TABLE auth_user_groups ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
ALTER TABLE auth_user ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE auth_user_user_permissions (
 id bigint NOT NULL,
 user_id integer NOT NULL,
 permission_id integer NOT NULL
);
ALTER TABLE auth_user_user_permissions ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE django_admin_log (
 id integer NOT NULL,
 action_time timestamptz NOT NULL,
 object_id text,
 object_repr varchar(200) NOT NULL,
 action_flag smallint NOT NULL,
 change_message text NOT NULL,
 content_type_id integer,
 user_id integer NOT NULL,
 CONSTRAINT django_admin_log_action_flag_check CHECK ((action_flag >= 0))
);
ALTER TABLE django_admin_log ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE django_content_type (
 id integer NOT NULL,
 app_label varchar(100) NOT NULL,
 model varchar(100) NOT NULL
);
ALTER TABLE django_content_type ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE django_migrations (
 id bigint NOT NULL,
 app varchar(255) NOT NULL,
 name varchar(255) NOT NULL,
 applied timestamptz NOT NULL
);
ALTER TABLE django_migrations ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE django_session (
 session_key varchar(40) NOT NULL,
 session_data text NOT NULL,
 expire_date timestamptz NOT NULL
);
CREATE TABLE documents_document (
 id uuid NOT NULL,
 title varchar(500) NOT NULL,
 status varchar(20) NOT NULL,
 file_name varchar(255) NOT NULL,
 page_count integer NOT NULL,
 file_size bigint NOT NULL,
 signing_order varchar(20) NOT NULL,
 created_at timestamptz NOT NULL,
 sent_at timestamptz,
 completed_at timestamptz,
 expires_at timestamptz,
 deleted_at timestamptz,
 workspace_id uuid NOT NULL,
 certificate_id bigint,
 original_id bigint NOT NULL,
 signed_id bigint,
 CONSTRAINT document_complete_has_files CHECK (((NOT ((status)::text = 'COMPLETED'::text)) OR ((certificate_id IS NOT NULL) AND (completed_at IS NOT NULL) AND (signed_id IS NOT NULL)))),
 CONSTRAINT document_has_pages CHECK (((file_size >= 1) AND (page_count >= 1))),
 CONSTRAINT document_signing_order CHECK (((signing_order)::text = ANY ((ARRAY['PARALLEL'::varchar, 'SEQUENTIAL'::varchar])::text[]))),
 CONSTRAINT document_status CHECK (((status)::text = ANY ((ARRAY['DRAFT'::varchar, 'SENT'::varchar, 'VIEWED'::varchar, 'PARTIALLY_SIGNED'::varchar, 'COMPLETED'::varchar, 'DECLINED'::varchar, 'EXPIRED'::varchar, 'CANCELLED'::varchar])::text[]))),
 CONSTRAINT documents_document_page_count_check CHECK ((page_count >= 0))
);
CREATE TABLE documents_recipient (
 id uuid NOT NULL,
 name varchar(200) NOT NULL,
 email varchar(254) NOT NULL,
 role varchar(10) NOT NULL,
 status varchar(10) NOT NULL,
 "order" integer NOT NULL,
 sent_at timestamptz,
 viewed_at timestamptz,
 completed_at timestamptz,
 declined_at timestamptz,
 decline_reason varchar(2000),
 document_id uuid NOT NULL,
 CONSTRAINT documents_recipient_order_check CHECK (("order" >= 0)),
 CONSTRAINT recipient_role CHECK (((role)::text = ANY ((ARRAY['SIGNER'::varchar, 'APPROVER'::varchar, 'CC'::varchar, 'VIEWER'::varchar])::text[]))),
 CONSTRAINT recipient_status CHECK (((status)::text = ANY ((ARRAY['PENDING'::varchar, 'SENT'::varchar, 'VIEWED'::varchar, 'SIGNED'::varchar, 'APPROVED'::varchar, 'DECLINED'::varchar, 'BOUNCED'::varchar])::text[])))
);
CREATE TABLE documents_storedfile (
 id bigint NOT NULL,
 object_key varchar(100) NOT NULL,
 size bigint NOT NULL,
 sha256 varchar(64) NOT NULL,
 created_at timestamptz NOT NULL,
 checked_at timestamptz
);
ALTER TABLE documents_storedfile ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE events_event (
 id bigint NOT NULL,
 transaction bigint NOT NULL,
 uuid uuid NOT NULL,
 workspace_id uuid NOT NULL,
 type varchar(30) NOT NULL,
 occurred_at timestamptz DEFAULT statement_timestamp() NOT NULL,
 document_id uuid NOT NULL,
 status varchar(20) NOT NULL
);
ALTER TABLE events_event ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE events_generation (
 id bigint NOT NULL,
 created_at timestamptz DEFAULT statement_timestamp() NOT NULL
);
ALTER TABLE events_generation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE otp_static_staticdevice (
 id integer NOT NULL,
 name varchar(64) NOT NULL,
 confirmed boolean NOT NULL,
 user_id integer NOT NULL,
 throttling_failure_count integer NOT NULL,
 throttling_failure_timestamp timestamptz,
 created_at timestamptz,
 last_used_at timestamptz,
 CONSTRAINT otp_static_staticdevice_throttling_failure_count_check CHECK ((throttling_failure_count >= 0))
);
ALTER TABLE otp_static_staticdevice ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE otp_static_statictoken (
 id integer NOT NULL,
 token varchar(16) NOT NULL,
 device_id integer NOT NULL
);
ALTER TABLE otp_static_statictoken ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE otp_totp_totpdevice (
 id integer NOT NULL,
 name varchar(64) NOT NULL,
 confirmed boolean NOT NULL,
 key varchar(80) NOT NULL,
 step smallint NOT NULL,
 t0 bigint NOT NULL,
 digits smallint NOT NULL,
 tolerance smallint NOT NULL,
 drift smallint NOT NULL,
 last_t bigint NOT NULL,
 user_id integer NOT NULL,
 throttling_failure_count integer NOT NULL,
 throttling_failure_timestamp timestamptz,
 created_at timestamptz,
 last_used_at timestamptz,
 CONSTRAINT otp_totp_totpdevice_digits_check CHECK ((digits >= 0)),
 CONSTRAINT otp_totp_totpdevice_step_check CHECK ((step >= 0)),
 CONSTRAINT otp_totp_totpdevice_throttling_failure_count_check CHECK ((throttling_failure_count >= 0)),
 CONSTRAINT otp_totp_totpdevice_tolerance_check CHECK ((tolerance >= 0))
);
ALTER TABLE otp_totp_totpdevice ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE usage_flushedbatch (
 process uuid NOT NULL,
 kind varchar(20) NOT NULL,
 number bigint NOT NULL,
 at timestamptz NOT NULL
);
CREATE TABLE usage_keyaddress (
 key_id uuid NOT NULL,
 address varchar(45) NOT NULL,
 user_agent varchar(500) NOT NULL,
 first_seen timestamptz NOT NULL,
 last_seen timestamptz NOT NULL,
 requests bigint NOT NULL
);
CREATE TABLE usage_keyusage (
 key_id uuid NOT NULL,
 day date NOT NULL,
 workspace_id uuid NOT NULL,
 ok bigint NOT NULL,
 errors bigint NOT NULL,
 limited bigint NOT NULL,
 downloads bigint NOT NULL
);
CREATE TABLE usage_refusedrequest (
 id bigint NOT NULL,
 created_at timestamptz NOT NULL,
 request_id varchar(32) NOT NULL,
 status smallint NOT NULL,
 response_text varchar(500) NOT NULL,
 reason varchar(500) NOT NULL,
 more bigint NOT NULL,
 key_id uuid,
 key_name varchar(100) NOT NULL,
 key_prefix varchar(12) NOT NULL,
 workspace_id uuid,
 workspace_name varchar(200) NOT NULL,
 document_id uuid,
 address varchar(45) NOT NULL,
 user_agent varchar(500) NOT NULL,
 method varchar(20) NOT NULL,
 path varchar(500) NOT NULL,
 CONSTRAINT usage_refusedrequest_status_check CHECK ((status >= 0))
);
ALTER TABLE usage_refusedrequest ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE webhooks_attempt (
 id bigint NOT NULL,
 number smallint NOT NULL,
 started_at timestamptz NOT NULL,
 milliseconds integer NOT NULL,
 status smallint,
 response varchar(1000) NOT NULL,
 error varchar(200) NOT NULL,
 delivery_id bigint NOT NULL,
 CONSTRAINT webhooks_attempt_milliseconds_check CHECK ((milliseconds >= 0)),
 CONSTRAINT webhooks_attempt_number_check CHECK ((number >= 0)),
 CONSTRAINT webhooks_attempt_status_check CHECK ((status >= 0))
);
ALTER TABLE webhooks_attempt ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE webhooks_delivery (
 id bigint NOT NULL,
 event_id uuid NOT NULL,
 type varchar(30) NOT NULL,
 occurred_at timestamptz NOT NULL,
 document_id uuid NOT NULL,
 status varchar(20) NOT NULL,
 sequence bigint NOT NULL,
 state varchar(10) NOT NULL,
 attempts smallint NOT NULL,
 failures smallint DEFAULT 0 NOT NULL,
 next_attempt_at timestamptz DEFAULT statement_timestamp(),
 claim uuid,
 claimed_until timestamptz,
 created_at timestamptz DEFAULT statement_timestamp() NOT NULL,
 endpoint_id uuid NOT NULL,
 CONSTRAINT webhooks_delivery_attempts_check CHECK ((attempts >= 0)),
 CONSTRAINT webhooks_delivery_failures_check CHECK ((failures >= 0))
);
ALTER TABLE webhooks_delivery ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE webhooks_endpoint (
 id uuid NOT NULL,
 url varchar(500) NOT NULL,
 types varchar(30)[] NOT NULL,
 enabled boolean NOT NULL,
 disabled_reason varchar(200) NOT NULL,
 disabled_at timestamptz,
 failing_since timestamptz,
 secret varchar(500) NOT NULL,
 previous_secret varchar(500) NOT NULL,
 previous_secret_until timestamptz,
 created_at timestamptz NOT NULL,
 deleted_at timestamptz,
 created_by_id integer,
 workspace_id uuid NOT NULL
);
CREATE TABLE webhooks_process (
 id bigint NOT NULL,
 name varchar(200) NOT NULL,
 seen_at timestamptz DEFAULT statement_timestamp() NOT NULL
);
ALTER TABLE webhooks_process ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE workspaces_confirmedaddress (
 user_id integer NOT NULL,
 email varchar(254) NOT NULL,
 confirmed_at timestamptz NOT NULL
);
CREATE TABLE workspaces_documentcount (
 id bigint NOT NULL,
 workspace_id uuid NOT NULL,
 status varchar(20) NOT NULL,
 count bigint NOT NULL
);
ALTER TABLE workspaces_documentcount ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE workspaces_invitation (
 id bigint NOT NULL,
 email varchar(150) NOT NULL,
 role varchar(10) NOT NULL,
 digest varchar(64) NOT NULL,
 created_at timestamptz NOT NULL,
 expires_at timestamptz NOT NULL,
 accepted_at timestamptz,
 revoked_at timestamptz,
 created_by_id integer,
 workspace_id uuid NOT NULL,
 mailed boolean DEFAULT false NOT NULL
);
ALTER TABLE workspaces_invitation ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE workspaces_membership (
 id bigint NOT NULL,
 role varchar(10) NOT NULL,
 created_at timestamptz NOT NULL,
 user_id integer NOT NULL,
 workspace_id uuid NOT NULL,
 CONSTRAINT membership_role CHECK (((role)::text = ANY ((ARRAY['ADMIN'::varchar, 'MEMBER'::varchar])::text[])))
);
ALTER TABLE workspaces_membership ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY;
CREATE TABLE workspaces_workspace (
 id uuid NOT NULL,
 name varchar(200) NOT NULL,
 plan varchar(20) NOT NULL,
 suspended boolean NOT NULL,
 created_at timestamptz NOT NULL
);
INSERT INTO apikeys_apikey VALUES
	('377cfd36-5668-4665-aaf0-cf2d865b4547', 'Laptop', 'dtd_T1pH425V', 'e8f82ebeba12e078ed0e73d155f2087be1f16b6d1a32e452741cbdb0ae3e0925', '2026-11-23 15:01:04.889977', NULL, '2026-11-23 15:01:04.892887', 1, 1, '0637e301-e05d-505b-8267-486f5677de9b', NULL, '', '', '', NULL),
	('e82fb882-389b-43ac-9311-39a56835c2c9', 'CRM', 'dtd_azbixzP7', '5ce707ccb08ae185235f44cc9591e657013b26521c19bce4969755ca5d9f691c', '2026-11-23 15:01:04.917637', NULL, NULL, 1, NULL, '0637e301-e05d-505b-8267-486f5677de9b', NULL, '', '', 'new', NULL),
	('90302a78-3833-489c-aca1-44ce9839800c', 'CRM', 'dtd_yPm2EFS3', '595c2d60234edd957aadeed8ec950d2031c793f11f18d593e9bff4882e3dab0d', '2026-11-23 15:01:04.903043', NULL, NULL, 1, NULL, '0637e301-e05d-505b-8267-486f5677de9b', '2026-11-23 15:01:04.92392', '', '', '', 'e82fb882-389b-43ac-9311-39a56835c2c9'),
	('06e1e559-36c8-480b-ae80-db3986dffe90', 'Warehouse sync', 'dtd_B2RJBJxm', 'aed21ea51d27c87595c4e9c8fbe5b1c455fa58659aa1da1118197ca031f7f9b6', '2026-11-23 15:01:04.832525', '2026-11-23 15:01:27.034649', NULL, 1, NULL, '0637e301-e05d-505b-8267-486f5677de9b', NULL, '127.0.0.1', 'warehouse/2.1', 'Nightly copy', NULL),
	('32546ca1-68c2-444c-bf50-8c14d85bd8a3', 'Reporting', 'dtd_2yc86cQd', '251d06030223132295fc1f3de9052164ccfd7dcd4695396ed417663bdac1f2f3', '2026-11-23 15:01:04.850674', '2026-11-23 15:01:27.156644', NULL, 2, NULL, 'e5ab823a-ded4-5251-93eb-68b932aa507a', '2848-04-07 15:01:04.849937', '127.0.0.1', 'warehouse/2.1', '', NULL),
	('659879ef-cfde-4001-a62d-87587ac7327f', 'Trial', 'dtd_o2FbZQr7', '4b6047426f9ccbe5abec5bb7850dbf482045c2f7e9f75e92efa59cab8a3e9934', '2026-11-23 15:01:04.870557', '2026-11-23 15:01:27.168649', NULL, 3, NULL, 'c4c8b7dd-4318-5978-bf02-5aab43e469c8', NULL, '127.0.0.1', 'warehouse/2.1', '', NULL),
	('ef196c70-ef55-4825-b6c7-88d6308b9257', 'Old', 'dtd_L2CmqALD', '73d3ac5f6e5aba9ddf85c294751ef13bead245738dcee590d4983244fd94f5ae', '2026-11-23 15:01:04.88269', '2026-11-23 15:01:27.170234', NULL, 4, NULL, 'd165400f-4a9a-57aa-8136-d7960733f5f3', NULL, '127.0.0.1', 'warehouse/2.1', '', NULL);
INSERT INTO audit_auditentry VALUES
	(1, '2026-11-23 15:01:01.104087', 'command.run', NULL, '', 'root (manage.py migrate)', '', 'Migrations: admin.0001_initial, admin.0002_logentry_remove_auto_add, admin.0003_logentry_add_action_flag_choices, apikeys.0001_initial, apikeys.0002_key_prefix_index, apikeys.0003_expiry_and_note, apikeys.0004_replaced_by, audit.0001_initial, audit.0002_history_indexes, audit.0003_audit_log, audit.0004_append_only, audit.0005_longer_detail, audit.0006_actions_of_the_console, audit.0007_search_indexes, audit.0008_webhook_actions, audit.0009_labels_in_python, audit.0010_guarded_function, auth.0001_initial, auth.0002_alter_permission_name_max_length, auth.0003_alter_user_email_max_length, auth.0004_alter_user_username_opts, auth.0005_alter_user_last_login_null, auth.0006_require_contenttypes_0002, auth.0007_alter_validators_add_error_messages, auth.0008_alter_user_username_max_length, auth.0009_alter_user_last_name_max_length, auth.0010_alter_group_name_max_length, auth.0011_update_proxy_permissions, auth.0012_alter_user_first_name_max_length, contenttypes.0001_initial, contenttypes.0002_', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(2, '2026-11-23 15:01:04.00436', 'workspace.created', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', 'PRO', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(3, '2026-11-23 15:01:04.571949', 'document.imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', 'created; import file: SHA-256 28311401f27db0b8ae707617fc41c05a66f18e41f75fb4c29fd296180847355b', NULL, '', '', 'a7386524-c572-4c11-89e6-448be6f0878b', 'Office lease – Besançon, unit 22', '', '', '', NULL, '', '', '', NULL),
	(4, '2026-11-23 15:01:04.572215', 'document.file_imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', '', NULL, '', '', 'a7386524-c572-4c11-89e6-448be6f0878b', 'Office lease – Besançon, unit 22', 'original', '67d7cd5947dfe984b2716584ed03552a4506c14ec10450d6c811ed8cced4f769', '', NULL, '', '', '', NULL),
	(5, '2026-11-23 15:01:04.572235', 'document.imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', 'created; import file: SHA-256 28311401f27db0b8ae707617fc41c05a66f18e41f75fb4c29fd296180847355b', NULL, '', '', 'd3b1986e-180a-4ab3-9ac0-833c8b95245a', 'Σύμβαση συνεργασίας – Smörgås & Söner AB', '', '', '', NULL, '', '', '', NULL),
	(6, '2026-11-23 15:01:04.572247', 'document.file_imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', '', NULL, '', '', 'd3b1986e-180a-4ab3-9ac0-833c8b95245a', 'Σύμβαση συνεργασίας – Smörgås & Söner AB', 'original', 'd8e15b8f0c3d30e3103a28b461affdc315095ec4d19b7db791f1abcf963bd57d', '', NULL, '', '', '', NULL),
	(7, '2026-11-23 15:01:04.572259', 'document.imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', 'created; import file: SHA-256 28311401f27db0b8ae707617fc41c05a66f18e41f75fb4c29fd296180847355b', NULL, '', '', '3b717a05-8694-489c-962d-d2334b39503c', 'Mutual NDA – Quinta do Açor, Lda.', '', '', '', NULL, '', '', '', NULL),
	(8, '2026-11-23 15:01:04.572268', 'document.file_imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', '', NULL, '', '', '3b717a05-8694-489c-962d-d2334b39503c', 'Mutual NDA – Quinta do Açor, Lda.', 'original', '30ffb115aff1c6f75d43b57e0f30bcd9260c7a9319f5ccef4f7b22ddda88e6b9', '', NULL, '', '', '', NULL),
	(9, '2026-11-23 15:01:04.572277', 'document.imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', 'created; import file: SHA-256 28311401f27db0b8ae707617fc41c05a66f18e41f75fb4c29fd296180847355b', NULL, '', '', '94906e4b-f20d-4eed-a70a-7eadf0fc73fe', 'Mutual NDA – Łódzkie Pracownie sp. z o.o.', '', '', '', NULL, '', '', '', NULL),
	(10, '2026-11-23 15:01:04.572288', 'document.file_imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', '', NULL, '', '', '94906e4b-f20d-4eed-a70a-7eadf0fc73fe', 'Mutual NDA – Łódzkie Pracownie sp. z o.o.', 'original', '4197decca7c1256746f249aa95562d552001d3631a4495120d31dd77f8b0ec42', '', NULL, '', '', '', NULL),
	(11, '2026-11-23 15:01:04.572297', 'document.imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', 'created; import file: SHA-256 28311401f27db0b8ae707617fc41c05a66f18e41f75fb4c29fd296180847355b', NULL, '', '', 'ac57d3d5-97ba-432c-84f6-aff42004d99a', 'Mutual NDA – Nordlicht Ölmühle GmbH', '', '', '', NULL, '', '', '', NULL),
	(12, '2026-11-23 15:01:04.572307', 'document.file_imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', '', NULL, '', '', 'ac57d3d5-97ba-432c-84f6-aff42004d99a', 'Mutual NDA – Nordlicht Ölmühle GmbH', 'original', '30ffb115aff1c6f75d43b57e0f30bcd9260c7a9319f5ccef4f7b22ddda88e6b9', '', NULL, '', '', '', NULL),
	(13, '2026-11-23 15:01:04.572318', 'document.imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', 'created; import file: SHA-256 28311401f27db0b8ae707617fc41c05a66f18e41f75fb4c29fd296180847355b', NULL, '', '', '84455733-e57e-4693-b8a6-07894a4df91a', 'Mutual NDA – Tidewater Property Trust', '', '', '', NULL, '', '', '', NULL),
	(14, '2026-11-23 15:01:04.572327', 'document.file_imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', '', NULL, '', '', '84455733-e57e-4693-b8a6-07894a4df91a', 'Mutual NDA – Tidewater Property Trust', 'original', '67d7cd5947dfe984b2716584ed03552a4506c14ec10450d6c811ed8cced4f769', '', NULL, '', '', '', NULL),
	(15, '2026-11-23 15:01:04.572335', 'document.imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', 'created; import file: SHA-256 28311401f27db0b8ae707617fc41c05a66f18e41f75fb4c29fd296180847355b', NULL, '', '', '537a75a7-aa37-4aac-8635-ceea99c76ec2', 'Договор поставки № 58', '', '', '', NULL, '', '', '', NULL),
	(16, '2026-11-23 15:01:04.572346', 'document.file_imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', '', NULL, '', '', '537a75a7-aa37-4aac-8635-ceea99c76ec2', 'Договор поставки № 58', 'original', '4197decca7c1256746f249aa95562d552001d3631a4495120d31dd77f8b0ec42', '', NULL, '', '', '', NULL),
	(17, '2026-11-23 15:01:04.572355', 'document.imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', 'created, completed; import file: SHA-256 28311401f27db0b8ae707617fc41c05a66f18e41f75fb4c29fd296180847355b', NULL, '', '', '5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'Mutual NDA – Quinta do Açor, Lda.', '', '', '', NULL, '', '', '', NULL),
	(18, '2026-11-23 15:01:04.572364', 'document.file_imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', '', NULL, '', '', '5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'Mutual NDA – Quinta do Açor, Lda.', 'signed', 'c4a691cacda4064639cc966a91c7288a44607c4a7fcfe01b6df3ecf2b204ab39', '', NULL, '', '', '', NULL),
	(19, '2026-11-23 15:01:04.572373', 'document.file_imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', '', NULL, '', '', '5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'Mutual NDA – Quinta do Açor, Lda.', 'original', '4197decca7c1256746f249aa95562d552001d3631a4495120d31dd77f8b0ec42', '', NULL, '', '', '', NULL),
	(20, '2026-11-23 15:01:04.572384', 'document.file_imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', '', '', NULL, '', '', '5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'Mutual NDA – Quinta do Açor, Lda.', 'certificate', 'b628b2801f0762727755bfd1872fedac82b2d998f18e58a000f1b3cc688c6170', '', NULL, '', '', '', NULL),
	(21, '2026-11-23 15:01:04.594533', 'workspace.created', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'Umbrella', 'root (make.py)', '', 'BUSINESS', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(22, '2026-11-23 15:01:04.633256', 'document.imported', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'Umbrella', 'root (make.py)', '', 'created; import file: SHA-256 67ab8599eda67638e8f0a838b659a963df674309ecabcfe37e43146e4f366a77', NULL, '', '', '6ebf30ca-9819-425f-9d79-dd4ad9c8cd57', 'Σύμβαση συνεργασίας – Maple Ridge Logistics Inc.', '', '', '', NULL, '', '', '', NULL),
	(23, '2026-11-23 15:01:04.633348', 'document.file_imported', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'Umbrella', 'root (make.py)', '', '', NULL, '', '', '6ebf30ca-9819-425f-9d79-dd4ad9c8cd57', 'Σύμβαση συνεργασίας – Maple Ridge Logistics Inc.', 'original', 'd8e15b8f0c3d30e3103a28b461affdc315095ec4d19b7db791f1abcf963bd57d', '', NULL, '', '', '', NULL),
	(24, '2026-11-23 15:01:04.658161', 'workspace.created', 'c4c8b7dd-4318-5978-bf02-5aab43e469c8', 'Freebie', 'root (make.py)', '', 'FREE', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(25, '2026-11-23 15:01:04.690269', 'workspace.created', 'd165400f-4a9a-57aa-8136-d7960733f5f3', 'Frozen', 'root (make.py)', '', 'PRO', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(26, '2026-11-23 15:01:04.698955', 'workspace.suspended', 'd165400f-4a9a-57aa-8136-d7960733f5f3', 'Frozen', 'root (make.py)', '', 'Invoice 2026-118 has not been paid for 60 days', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(27, '2026-11-23 15:01:04.730775', 'account.created', NULL, '', 'root (make.py)', 'ada@acme.example', 'staff status: no → yes; e-mail address not confirmed', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(28, '2026-11-23 15:01:04.740637', 'member.added', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', 'ada@acme.example', 'ADMIN', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(29, '2026-11-23 15:01:04.745118', 'account.created', NULL, '', 'root (make.py)', 'uma@umbrella.example', 'staff status: no → yes; e-mail address not confirmed', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(30, '2026-11-23 15:01:04.748737', 'member.added', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'Umbrella', 'root (make.py)', 'uma@umbrella.example', 'ADMIN', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(31, '2026-11-23 15:01:04.75347', 'account.created', NULL, '', 'root (make.py)', 'felix@freebie.example', 'staff status: no → yes; e-mail address not confirmed', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(32, '2026-11-23 15:01:04.755389', 'member.added', 'c4c8b7dd-4318-5978-bf02-5aab43e469c8', 'Freebie', 'root (make.py)', 'felix@freebie.example', 'ADMIN', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(33, '2026-11-23 15:01:04.76106', 'account.created', NULL, '', 'root (make.py)', 'frida@frozen.example', 'staff status: no → yes; e-mail address not confirmed', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(34, '2026-11-23 15:01:04.765604', 'member.added', 'd165400f-4a9a-57aa-8136-d7960733f5f3', 'Frozen', 'root (make.py)', 'frida@frozen.example', 'ADMIN', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(35, '2026-11-23 15:01:04.766886', 'account.created', NULL, '', 'root (make.py)', 'max@acme.example', 'staff status: no → yes; e-mail address not confirmed', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(36, '2026-11-23 15:01:04.774063', 'member.added', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (make.py)', 'max@acme.example', 'MEMBER', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(37, '2026-11-23 15:01:04.775296', 'account.created', NULL, '', 'root (make.py)', 'sam@support.example', 'staff status: no → yes; e-mail address not confirmed', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(38, '2026-11-23 15:01:04.786855', 'account.changed', NULL, '', 'root (make.py)', 'sam@support.example', 'groups: +Support', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(39, '2026-11-23 15:01:04.790222', 'account.created', NULL, '', 'root (make.py)', 'olga@operator.example', 'superuser status: no → yes; staff status: no → yes; e-mail address not confirmed', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(40, '2026-11-23 15:01:04.847412', 'key.created', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', 'for: Nightly copy', '06e1e559-36c8-480b-ae80-db3986dffe90', 'Warehouse sync', 'dtd_B2RJBJxm', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(41, '2026-11-23 15:01:04.85469', 'key.created', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'Umbrella', 'uma@umbrella.example', '', 'expires 2848-04-07 15:01 UTC', '32546ca1-68c2-444c-bf50-8c14d85bd8a3', 'Reporting', 'dtd_2yc86cQd', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(42, '2026-11-23 15:01:04.873968', 'key.created', 'c4c8b7dd-4318-5978-bf02-5aab43e469c8', 'Freebie', 'felix@freebie.example', '', '', '659879ef-cfde-4001-a62d-87587ac7327f', 'Trial', 'dtd_o2FbZQr7', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(43, '2026-11-23 15:01:04.883895', 'key.created', 'd165400f-4a9a-57aa-8136-d7960733f5f3', 'Frozen', 'frida@frozen.example', '', '', 'ef196c70-ef55-4825-b6c7-88d6308b9257', 'Old', 'dtd_L2CmqALD', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(44, '2026-11-23 15:01:04.890904', 'key.created', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', '', '377cfd36-5668-4665-aaf0-cf2d865b4547', 'Laptop', 'dtd_T1pH425V', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(45, '2026-11-23 15:01:04.894226', 'key.revoked', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', '', '377cfd36-5668-4665-aaf0-cf2d865b4547', 'Laptop', 'dtd_T1pH425V', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(46, '2026-11-23 15:01:04.903933', 'key.created', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', '', '90302a78-3833-489c-aca1-44ce9839800c', 'CRM', 'dtd_yPm2EFS3', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(47, '2026-11-23 15:01:04.918639', 'key.created', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', 'for: new', 'e82fb882-389b-43ac-9311-39a56835c2c9', 'CRM', 'dtd_azbixzP7', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(48, '2026-11-23 15:01:04.932502', 'key.rolled', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', 'ends 2026-11-23 15:01 UTC; replaced by CRM (dtd_azbixzP7…)', '90302a78-3833-489c-aca1-44ce9839800c', 'CRM', 'dtd_yPm2EFS3', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(49, '2026-11-23 15:01:04.943376', 'key.created', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', '', '37f18b02-6972-4259-9e1c-f5249a11fb69', 'Gone', 'dtd_Ck8QxLvr', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(50, '2026-11-23 15:01:04.960501', 'key.deleted', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', '', '37f18b02-6972-4259-9e1c-f5249a11fb69', 'Gone', 'dtd_Ck8QxLvr', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(51, '2026-11-23 15:01:04.974832', 'invitation.created', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', 'ines@acme.example', 'MEMBER', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(52, '2026-11-23 15:01:04.992144', 'invitation.created', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', 'ivan@acme.example', 'ADMIN', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(53, '2026-11-23 15:01:05.000055', 'invitation.revoked', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', 'ivan@acme.example', 'ADMIN', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(54, '2026-11-23 15:01:05.025358', 'invitation.created', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'Umbrella', 'uma@umbrella.example', 'ian@umbrella.example', 'MEMBER', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(55, '2026-11-23 15:01:05.040628', 'account.created', NULL, '', 'root (make.py)', 'ian@umbrella.example', 'staff status: no → yes', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(56, '2026-11-23 15:01:05.045283', 'account.address_confirmed', NULL, '', 'root (make.py)', 'ian@umbrella.example', 'ian@umbrella.example', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(57, '2026-11-23 15:01:05.051645', 'invitation.accepted', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'Umbrella', 'ian@umbrella.example', 'ian@umbrella.example', 'invited by uma@umbrella.example', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(58, '2026-11-23 15:01:05.054407', 'member.added', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'Umbrella', 'ian@umbrella.example', 'ian@umbrella.example', 'MEMBER', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(59, '2026-11-23 15:01:05.074243', 'workspace.plan_changed', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'Umbrella', 'olga@operator.example', '', 'BUSINESS → PRO: Contract 2026-7', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(60, '2026-11-23 15:01:05.090516', 'member.role_changed', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', 'max@acme.example', 'MEMBER → ADMIN', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(61, '2026-11-23 15:01:05.141842', 'webhook.created', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', 'http://127.0.0.1:18480/ok (b285d6db-e49e-43df-a2ea-2b23ccf5efa5): document.created, document.sent, document.viewed, document.partially_signed, document.completed, document.declined, document.expired, document.cancelled, document.deleted', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(62, '2026-11-23 15:01:05.165482', 'webhook.created', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', 'http://127.0.0.1:18480/fails (da033af5-826a-4117-ab81-d884fd696ef4): document.completed', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(63, '2026-11-23 15:01:05.218758', 'webhook.created', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', 'http://127.0.0.1:18480/gone (dd359a15-f921-4e05-85d3-2820bec292fd): document.completed', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(64, '2026-11-23 15:01:05.26139', 'webhook.secret_rolled', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', 'http://127.0.0.1:18480/ok (b285d6db-e49e-43df-a2ea-2b23ccf5efa5)', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(65, '2026-11-23 15:01:05.315771', 'webhook.test_sent', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', 'http://127.0.0.1:18480/ok (b285d6db-e49e-43df-a2ea-2b23ccf5efa5)', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(66, '2026-11-23 15:01:05.32621', 'webhook.test_sent', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'ada@acme.example', '', 'http://127.0.0.1:18480/fails (da033af5-826a-4117-ab81-d884fd696ef4)', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(67, '2026-11-23 15:01:07.932355', 'document.imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (manage.py complete_document)', '', 'completed', NULL, '', '', 'd3b1986e-180a-4ab3-9ac0-833c8b95245a', 'Σύμβαση συνεργασίας – Smörgås & Söner AB', '', '', '', NULL, '', '', '', NULL),
	(68, '2026-11-23 15:01:07.933277', 'document.file_imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (manage.py complete_document)', '', '', NULL, '', '', 'd3b1986e-180a-4ab3-9ac0-833c8b95245a', 'Σύμβαση συνεργασίας – Smörgås & Söner AB', 'signed', 'a008621215be2fe6f8b4d6987935f4ad05a7fe6e1483ec16563a97e0daebb911', '', NULL, '', '', '', NULL),
	(69, '2026-11-23 15:01:07.933583', 'document.file_imported', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (manage.py complete_document)', '', '', NULL, '', '', 'd3b1986e-180a-4ab3-9ac0-833c8b95245a', 'Σύμβαση συνεργασίας – Smörgås & Söner AB', 'certificate', '6f92ed06a2e5f53b648208d800b60e992023cfee277eb4d6f323c6d1134aa386', '', NULL, '', '', '', NULL),
	(70, '2026-11-23 15:01:18.766093', 'webhook.switched_off', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'root (manage.py deliver_webhooks)', '', 'http://127.0.0.1:18480/gone (dd359a15-f921-4e05-85d3-2820bec292fd): it responded with 410 Gone', NULL, '', '', NULL, '', '', '', '', NULL, '', '', '', NULL),
	(71, '2026-11-23 15:01:27.07043', 'document.downloaded', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', '', '', '', '06e1e559-36c8-480b-ae80-db3986dffe90', 'Warehouse sync', 'dtd_B2RJBJxm', '5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'Mutual NDA – Quinta do Açor, Lda.', 'signed', 'c4a691cacda4064639cc966a91c7288a44607c4a7fcfe01b6df3ecf2b204ab39', '', NULL, '127.0.0.1', 'warehouse/2.1', 'ee63af13c97f44a7a9d7f20b1f34a498', NULL),
	(72, '2026-11-23 15:01:27.101863', 'document.downloaded', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', '', '', '', '06e1e559-36c8-480b-ae80-db3986dffe90', 'Warehouse sync', 'dtd_B2RJBJxm', '5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'Mutual NDA – Quinta do Açor, Lda.', 'certificate', 'b628b2801f0762727755bfd1872fedac82b2d998f18e58a000f1b3cc688c6170', '', NULL, '127.0.0.1', 'warehouse/2.1', '5a88839cc89341b6a3e5390b1becbb7b', NULL),
	(73, '2026-11-23 15:01:27.113035', 'document.download_ended', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', '', '', 'whole file', '06e1e559-36c8-480b-ae80-db3986dffe90', 'Warehouse sync', 'dtd_B2RJBJxm', '5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'Mutual NDA – Quinta do Açor, Lda.', 'signed', 'c4a691cacda4064639cc966a91c7288a44607c4a7fcfe01b6df3ecf2b204ab39', '', 24048, '127.0.0.1', 'warehouse/2.1', 'ee63af13c97f44a7a9d7f20b1f34a498', NULL),
	(74, '2026-11-23 15:01:27.117942', 'document.downloaded', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', '', '', '', '06e1e559-36c8-480b-ae80-db3986dffe90', 'Warehouse sync', 'dtd_B2RJBJxm', '5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'Mutual NDA – Quinta do Açor, Lda.', 'signed', 'c4a691cacda4064639cc966a91c7288a44607c4a7fcfe01b6df3ecf2b204ab39', '0-99/24048', NULL, '127.0.0.1', 'warehouse/2.1', '8230eff2a2634377a7b346ca590171ec', NULL),
	(75, '2026-11-23 15:01:27.132563', 'document.download_ended', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', '', '', 'whole file', '06e1e559-36c8-480b-ae80-db3986dffe90', 'Warehouse sync', 'dtd_B2RJBJxm', '5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'Mutual NDA – Quinta do Açor, Lda.', 'certificate', 'b628b2801f0762727755bfd1872fedac82b2d998f18e58a000f1b3cc688c6170', '', 18280, '127.0.0.1', 'warehouse/2.1', '5a88839cc89341b6a3e5390b1becbb7b', NULL),
	(76, '2026-11-23 15:01:27.139058', 'document.download_ended', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', '', '', 'part: 100 of 24,048 bytes', '06e1e559-36c8-480b-ae80-db3986dffe90', 'Warehouse sync', 'dtd_B2RJBJxm', '5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'Mutual NDA – Quinta do Açor, Lda.', 'signed', 'c4a691cacda4064639cc966a91c7288a44607c4a7fcfe01b6df3ecf2b204ab39', '0-99/24048', 100, '127.0.0.1', 'warehouse/2.1', '8230eff2a2634377a7b346ca590171ec', NULL);
INSERT INTO audit_checkpoint VALUES
	(69, '2026-11-23 15:01:10.707373', 'documents.example.com/audit
69
UDwaBgpHWQJBtNX4GZeoXcC0Xv4ekX7yeJFYJxhZ9MM=
sealed at 2026-11-23T15:01:10Z
complete to 0, then to 69 from transaction 3818

— documents.example.com/audit ejVFncDKLO9Syi8TuBL8NE5AvKyF6nqQN9XkfeLhJIDMnj+M1jwaciZB7Tt3UqBIjt6tKB5OFWZHNtIBmJw4tmABuA8=
', 0, 69, 3818),
	(76, '2026-11-23 15:01:40.445878', 'documents.example.com/audit
76
R9Y6pzDOVnBgaK5j6n/thxA086KBSVDZ+sB9W3Uw3rU=
sealed at 2026-11-23T15:01:40Z
complete to 69, then to 76 from transaction 3843

— documents.example.com/audit ejVFnVnpvPUssrKxZqAihrTpa1AcxKJfIKgAgu6DXIAt6I/yyVR0M7GhBxwVe0afRNvzgdqcAEZN/jZqeBg0HETptA8=
', 69, 76, 3843);
INSERT INTO audit_leaf VALUES
	(0, 1, '\xa9496681b6f516d3a172d7399af22d56bd5794c87689044090dbc89a90007871'),
	(1, 2, '\xecab728e330e086e3d74128f38c92a3b3c3bbb5b9979d81f0d68569a24ba46a4'),
	(2, 3, '\x9c27b03e5ee2ab5b938a8ee55dab6485233e901c515ff5ad56559e65a17291c2'),
	(3, 4, '\x9c50ab116d28e8b6385e6c725be3cbd23874180f18e0f97908369376681ce30f'),
	(4, 5, '\xc46831afeb0fe41ff4b70922b987d3b62747becc08ed80f3bf61fa88aab11bc3'),
	(5, 6, '\xe9f381324d0b0bb0557f920d19342418f493459166372f8e1d1caeab3fe44f8b'),
	(6, 7, '\x72eacc4d0e7a1866681a0a5a5d2e414f447e20df8e5804bc29d5b2d5891f850e'),
	(7, 8, '\x60a34d3b270c8eb3eb4b443cfdf20aabba17ef14b828be7f5db517500852d4fc'),
	(8, 9, '\xdeb9775b92cdafbaa81491ea2cca771f215a1fd156665468a774c95ce7db70b6'),
	(9, 10, '\x4fd88f575d430bae615dd766692f931b0b5529bc5cc32fcf9ec33433a8cb41a7'),
	(10, 11, '\x5b8fe3400cd2ef08c82ef65e3b2593f9b5775baf52fd110e65d293c6bce03b0e'),
	(11, 12, '\x7d339170b861999efc03c2573cc7f909f699769ab66a83309cb1e96f4e30dac6'),
	(12, 13, '\x64006fba8afa07e506b30ea2bca599b3f3717af3d6c5cfa8e5a327dae3996007'),
	(13, 14, '\x2fad18255360bea63878007fd543a6274632c01b5756064d24261923554c2e28'),
	(14, 15, '\x79da2ae409e9b788d244488e2e93277f6c04ea769f11ff3a780f1e32e75fee88'),
	(15, 16, '\x9c51c7fa4fec1c78a724cfb4fa547eac0e3d6aa6e34b8269d1c25f59fda91a28'),
	(16, 17, '\xa48d0b56dec234eb8c79ea776ce7a3c362221ca9b5497162ebd94a283328ff02'),
	(17, 18, '\xea8fa26adbf623c4ad8cd7e8ae25ff85c4d2d422dc0eacf85ef26c645bc31f8e'),
	(18, 19, '\xdb2e92fde2be51b3ea5bd9fb12a39aa06ace5f8ec0fbe145c3fe1c9c72ba9f53'),
	(19, 20, '\x30a9674981217ad5e17dc817dcbaf11de08942daf6cd689207784710e238aa77'),
	(20, 21, '\x2e961864d008a27ceb0d78d79ee9f5e4344239762a25b3101148d648c74c96f9'),
	(21, 22, '\xb5cd685cd30c77eb8bd8dafb05cc394ed9b2df1277795863db6344c542933981'),
	(22, 23, '\xfe8728d809af438c4dea5b3adbcbe3d5ed89f8c3bf719c6fe54521e675107321'),
	(23, 24, '\x0d1a4a3a4fc9d10eb51a1d34538e048d0a93023fafae687151e90247b2d6509a'),
	(24, 25, '\x2f8bbd36c7e9d992b21039e893496c7e4d51f7eded47594ba99ac38aa7c406c0'),
	(25, 26, '\x8f80aabb6b9c9b00fe0aff6292a8c7bbcba77f6bb8832766b31809b5c299e1be'),
	(26, 27, '\xdbb5a81f1cca624d8d7847862a6dc50906c54932efffa17c63a5a5d2af5be304'),
	(27, 28, '\x5efb0d397c14809494ab3b7e2dcbb19c20a495398041d35ba63cd10aa33ca883'),
	(28, 29, '\xe0e2f14aeaf2845e9959669a2d2da1f4e5126de7ca2c65638681d36d3bcf90b2'),
	(29, 30, '\x2619bb3cbe3a12d47cb06cd83558777128dd2c50ac1c9372fedf46968bdf3680'),
	(30, 31, '\xe7d9075e4b920eb47bab605bffbfc6ae466990c330d34dc17a1c98c0a9319897'),
	(31, 32, '\xd5e24d5568e781b2213265e8602d90c5e404bfe32278099e4cd72f1da1a78a21'),
	(32, 33, '\xc157341c9cbc1126352bae375b6a625e43462085733de05cad8fcb95cd23abd1'),
	(33, 34, '\xa4033a76094de5f150085f923be5377cf5e59fa3f7f34221cd14cf502dc18ef5'),
	(34, 35, '\x28fe259dd24ff03a2312a15698c2ace42066a5ab050ef17617a8ddd415c4f781'),
	(35, 36, '\x39d1b9438550fcb91bc0e44cbb9ca56911b944ba2b8fe506b2be4313923928ce'),
	(36, 37, '\x19593a124ce2fb7a228121371a6bfa0c873f862ac5adb702b84c1979b4d47760'),
	(37, 38, '\x33efe5ef39287ed90e823284128a1155bbf23b9821c5b636f594a17c55ecba3a'),
	(38, 39, '\xd91738dacccf51248111f6ea2087795338a7493269c6e59591ed189cbf07d21e'),
	(39, 40, '\xafe0e463a4837bd97a606a4289133c8042a470d02ff9ddeca0107af83ee07088'),
	(40, 41, '\x21299eeafdd47e4b710371c57d017713f85beffeb7f2232d04c0c57e8743d4e7'),
	(41, 42, '\x0295082ae5d21f491ee1f4ea06938e5b3f40cb5a04493508b4c395004ef658c2'),
	(42, 43, '\x9075c16492509df6491f5d7a16d111e22a4b05f39a817fbfd6df85b83a63e6d9'),
	(43, 44, '\x84ddc20ae229e7f321eb3437dcad54e952fffab3cf28f3a5ab47da99f95ed0de'),
	(44, 45, '\x95aaa5aa0ea60c34036c212ffcf571c29fdb44a2613985016c9576a5f964dd1b'),
	(45, 46, '\x7685374af3d2fa0cdacb6fabdf480635a6e33c2490a5c033b0096f96da521328'),
	(46, 47, '\x491e52f9ed2e7935386f9629cdbe256f8cf34e254551dbc75ada655c25d6cfd4'),
	(47, 48, '\x90e9b21e85caca528799d9927b38ead59a0288eef253e26e3cd3a19e8f965ba9'),
	(48, 49, '\xd39c8e0d32db57309ad6219c7a55a4b5df86c9cf91b9abcd4ad35f9ff8f5605b'),
	(49, 50, '\x46a181aee24c5fe8b35da6ff5c83685c365b1cbfcc66eac673eae443c772a12d'),
	(50, 51, '\xbbcc995a222c084afba01941aa2662b823bc9c26cade70c048d212f19d81c01b'),
	(51, 52, '\x292ca7bc308bfd172bcefd12394f87914272bcbbb080711e7c0c861a73523f00'),
	(52, 53, '\x6c4da5e587cfebe74dee3c223d0e68c10b2996f342c5c689adf84e0f5d163e15'),
	(53, 54, '\xbf3fbf02a1e254dac1d15bfbda40afff750aa1ea1a5c9ed5690992e5b2a7e89c'),
	(54, 55, '\xbd1405631e6b9c64e877195cef15bedd45e9bf9ad55f1974e599c1a0dd83cc90'),
	(55, 56, '\xd11008d72c77b1c70f7bd6032b6511956d95f0b21f562983474ea57e0a37a4d6'),
	(56, 57, '\xbc79e933522b31a192e2cd9608a2383957bc1599550ba122e432c770cece6398'),
	(57, 58, '\x0b35c6257c7024caa00b1f36be0442ddc836e6d6bb73dae01930589ee85a0af1'),
	(58, 59, '\x8fe374bf341ae22b1b66f8e16a273b8c45cbb1055c554837b6a50b38c17b9211'),
	(59, 60, '\xac854991f1328efc4ef9ac5556603d5fd190dc657e5e62665cc14285d2011253'),
	(60, 61, '\x659b74e2c9f571a080fc9943947756e437a9f8d87f454394bd5e19ca0208a1c4'),
	(61, 62, '\x09d522f6db102447c036a66ceba1a75ff711cc78ef7f37d866f64ad625c7e946'),
	(62, 63, '\x40dadc2f0e4f43adf797adab9d9cc54d3a7e977a6574926a618032c2e5530261'),
	(63, 64, '\xd18a69211e6a3e135bc536845b307a5a3d033469952194cccaf7d6cab458eab5'),
	(64, 65, '\xea1f190f4efd19e4f921c91410f5c553ad41726fab731eb0a4955834c8ffc203'),
	(65, 66, '\x6dd924b6422415c771766aa4890ad390d673a3c66eb515afa3c697a59e3bfc5d'),
	(66, 67, '\x5a70d50c214d1db8b1cf537848ab509200596992cb940979c862920121cc3e61'),
	(67, 68, '\x9e213edbd5ffa35134fcee010dc7f962972c0abd41285703a8cbd2080f89ef0d'),
	(68, 69, '\x91c2e36f9baac9543f7e65d670fd7df178a19ff5f174c4b149501c1ec09afa51'),
	(69, 70, '\xcd22f57658e9b8c5f25aca9ed259b567f65fdf19de527153a0217fb24996195c'),
	(70, 71, '\x598b0b77232423b1895fa691bc27549d3deb1c7967ec1682d9cc5aadd672930a'),
	(71, 72, '\x65153f02120b7d4a8a519f43aa9b5374f007f47d87d6e3f7de56a2a3835a6968'),
	(72, 73, '\xbfbdd35c9645f1e8840c7d7c6b5e5fedfeda623563a512479a962f3026d3153c'),
	(73, 74, '\x940c883232bfe59bf72a1a8893ff24b4a3e29ae2f83dd4b102aefceebf6d5ba1'),
	(74, 75, '\x0483b128bacccef68ded527727d881cbe3a9b9647bf7e2eb3e7a168013e69027'),
	(75, 76, '\xe1eb8ec4165dd60a3c534a23b78bb0d55635534cd1e9b28a3ada14702dbf9054');
INSERT INTO auth_group VALUES
	(1, 'Support');
INSERT INTO auth_group_permissions VALUES
	(1, 1, 24),
	(2, 1, 64),
	(3, 1, 68);
INSERT INTO auth_permission VALUES
	(1, 'Can add membership', 1, 'add_membership'),
	(2, 'Can change membership', 1, 'change_membership'),
	(3, 'Can delete membership', 1, 'delete_membership'),
	(4, 'Can view membership', 1, 'view_membership'),
	(5, 'Can add workspace', 2, 'add_workspace'),
	(6, 'Can change workspace', 2, 'change_workspace'),
	(7, 'Can delete workspace', 2, 'delete_workspace'),
	(8, 'Can view workspace', 2, 'view_workspace'),
	(9, 'Can add document count', 3, 'add_documentcount'),
	(10, 'Can change document count', 3, 'change_documentcount'),
	(11, 'Can delete document count', 3, 'delete_documentcount'),
	(12, 'Can view document count', 3, 'view_documentcount'),
	(13, 'Can add invitation', 4, 'add_invitation'),
	(14, 'Can change invitation', 4, 'change_invitation'),
	(15, 'Can delete invitation', 4, 'delete_invitation'),
	(16, 'Can view invitation', 4, 'view_invitation'),
	(17, 'Can add confirmed address', 5, 'add_confirmedaddress'),
	(18, 'Can change confirmed address', 5, 'change_confirmedaddress'),
	(19, 'Can delete confirmed address', 5, 'delete_confirmedaddress'),
	(20, 'Can view confirmed address', 5, 'view_confirmedaddress'),
	(21, 'Can add audit entry', 6, 'add_auditentry'),
	(22, 'Can change audit entry', 6, 'change_auditentry'),
	(23, 'Can delete audit entry', 6, 'delete_auditentry'),
	(24, 'Can view audit entry', 6, 'view_auditentry'),
	(25, 'Can add checkpoint', 7, 'add_checkpoint'),
	(26, 'Can change checkpoint', 7, 'change_checkpoint'),
	(27, 'Can delete checkpoint', 7, 'delete_checkpoint'),
	(28, 'Can view checkpoint', 7, 'view_checkpoint'),
	(29, 'Can add leaf', 8, 'add_leaf'),
	(30, 'Can change leaf', 8, 'change_leaf'),
	(31, 'Can delete leaf', 8, 'delete_leaf'),
	(32, 'Can view leaf', 8, 'view_leaf'),
	(33, 'Can add subtree', 9, 'add_subtree'),
	(34, 'Can change subtree', 9, 'change_subtree'),
	(35, 'Can delete subtree', 9, 'delete_subtree'),
	(36, 'Can view subtree', 9, 'view_subtree'),
	(37, 'Can add API key', 10, 'add_apikey'),
	(38, 'Can change API key', 10, 'change_apikey'),
	(39, 'Can delete API key', 10, 'delete_apikey'),
	(40, 'Can view API key', 10, 'view_apikey'),
	(41, 'Can add flushed batch', 11, 'add_flushedbatch'),
	(42, 'Can change flushed batch', 11, 'change_flushedbatch'),
	(43, 'Can delete flushed batch', 11, 'delete_flushedbatch'),
	(44, 'Can view flushed batch', 11, 'view_flushedbatch'),
	(45, 'Can add key address', 12, 'add_keyaddress'),
	(46, 'Can change key address', 12, 'change_keyaddress'),
	(47, 'Can delete key address', 12, 'delete_keyaddress'),
	(48, 'Can view key address', 12, 'view_keyaddress'),
	(49, 'Can add key usage', 13, 'add_keyusage'),
	(50, 'Can change key usage', 13, 'change_keyusage'),
	(51, 'Can delete key usage', 13, 'delete_keyusage'),
	(52, 'Can view key usage', 13, 'view_keyusage'),
	(53, 'Can add refused request', 14, 'add_refusedrequest'),
	(54, 'Can change refused request', 14, 'change_refusedrequest'),
	(55, 'Can delete refused request', 14, 'delete_refusedrequest'),
	(56, 'Can view refused request', 14, 'view_refusedrequest'),
	(57, 'Can add stored file', 15, 'add_storedfile'),
	(58, 'Can change stored file', 15, 'change_storedfile'),
	(59, 'Can delete stored file', 15, 'delete_storedfile'),
	(60, 'Can view stored file', 15, 'view_storedfile'),
	(61, 'Can add document', 16, 'add_document'),
	(62, 'Can change document', 16, 'change_document'),
	(63, 'Can delete document', 16, 'delete_document'),
	(64, 'Can view document', 16, 'view_document'),
	(65, 'Can add recipient', 17, 'add_recipient'),
	(66, 'Can change recipient', 17, 'change_recipient'),
	(67, 'Can delete recipient', 17, 'delete_recipient'),
	(68, 'Can view recipient', 17, 'view_recipient'),
	(69, 'Can add generation', 18, 'add_generation'),
	(70, 'Can change generation', 18, 'change_generation'),
	(71, 'Can delete generation', 18, 'delete_generation'),
	(72, 'Can view generation', 18, 'view_generation'),
	(73, 'Can add event', 19, 'add_event'),
	(74, 'Can change event', 19, 'change_event'),
	(75, 'Can delete event', 19, 'delete_event'),
	(76, 'Can view event', 19, 'view_event'),
	(77, 'Can add process', 20, 'add_process'),
	(78, 'Can change process', 20, 'change_process'),
	(79, 'Can delete process', 20, 'delete_process'),
	(80, 'Can view process', 20, 'view_process'),
	(81, 'Can add webhook endpoint', 21, 'add_endpoint'),
	(82, 'Can change webhook endpoint', 21, 'change_endpoint'),
	(83, 'Can delete webhook endpoint', 21, 'delete_endpoint'),
	(84, 'Can view webhook endpoint', 21, 'view_endpoint'),
	(85, 'Can add webhook delivery', 22, 'add_delivery'),
	(86, 'Can change webhook delivery', 22, 'change_delivery'),
	(87, 'Can delete webhook delivery', 22, 'delete_delivery'),
	(88, 'Can view webhook delivery', 22, 'view_delivery'),
	(89, 'Can add attempt', 23, 'add_attempt'),
	(90, 'Can change attempt', 23, 'change_attempt'),
	(91, 'Can delete attempt', 23, 'delete_attempt'),
	(92, 'Can view attempt', 23, 'view_attempt'),
	(93, 'Can add static device', 24, 'add_staticdevice'),
	(94, 'Can change static device', 24, 'change_staticdevice'),
	(95, 'Can delete static device', 24, 'delete_staticdevice'),
	(96, 'Can view static device', 24, 'view_staticdevice'),
	(97, 'Can add static token', 25, 'add_statictoken'),
	(98, 'Can change static token', 25, 'change_statictoken'),
	(99, 'Can delete static token', 25, 'delete_statictoken'),
	(100, 'Can view static token', 25, 'view_statictoken'),
	(101, 'Can add TOTP device', 26, 'add_totpdevice'),
	(102, 'Can change TOTP device', 26, 'change_totpdevice'),
	(103, 'Can delete TOTP device', 26, 'delete_totpdevice'),
	(104, 'Can view TOTP device', 26, 'view_totpdevice'),
	(105, 'Can add log entry', 27, 'add_logentry'),
	(106, 'Can change log entry', 27, 'change_logentry'),
	(107, 'Can delete log entry', 27, 'delete_logentry'),
	(108, 'Can view log entry', 27, 'view_logentry'),
	(109, 'Can add permission', 28, 'add_permission'),
	(110, 'Can change permission', 28, 'change_permission'),
	(111, 'Can delete permission', 28, 'delete_permission'),
	(112, 'Can view permission', 28, 'view_permission'),
	(113, 'Can add group', 29, 'add_group'),
	(114, 'Can change group', 29, 'change_group'),
	(115, 'Can delete group', 29, 'delete_group'),
	(116, 'Can view group', 29, 'view_group'),
	(117, 'Can add user', 30, 'add_user'),
	(118, 'Can change user', 30, 'change_user'),
	(119, 'Can delete user', 30, 'delete_user'),
	(120, 'Can view user', 30, 'view_user'),
	(121, 'Can add content type', 31, 'add_contenttype'),
	(122, 'Can change content type', 31, 'change_contenttype'),
	(123, 'Can delete content type', 31, 'delete_contenttype'),
	(124, 'Can view content type', 31, 'view_contenttype'),
	(125, 'Can add session', 32, 'add_session'),
	(126, 'Can change session', 32, 'change_session'),
	(127, 'Can delete session', 32, 'delete_session'),
	(128, 'Can view session', 32, 'view_session');
INSERT INTO auth_user VALUES
	(1, '!Jlr4HLqvEYJNo4ga0xoldG4zWk9aKaKHHMgj8KIA', NULL, false, 'ada@acme.example', 'Ada', 'Núñez', 'ada@acme.example', true, true, '2026-11-23 15:01:04.726951'),
	(2, '!c0IcilKMwvDG8e8DTErGFDSsfD71yRD0wqU4DWWu', NULL, false, 'uma@umbrella.example', 'Uma', 'Šimková', 'uma@umbrella.example', true, true, '2026-11-23 15:01:04.74093'),
	(3, '!6CuYjrmPglS8lEijLfe9ohB23hVBJiZXDgISIjP8', NULL, false, 'felix@freebie.example', 'Félix', 'Moreau', 'felix@freebie.example', true, true, '2026-11-23 15:01:04.750254'),
	(4, '!eG0sFBxCxkRVCE633vnWuqV0XeJDmG3ZbHtCKjtI', NULL, false, 'frida@frozen.example', 'Frida', 'Østby', 'frida@frozen.example', true, true, '2026-11-23 15:01:04.756434'),
	(5, '!sBXR42x0goeANe5MzxJPphpeIZQuVrKJMSAIsu1x', NULL, false, 'max@acme.example', 'Max', 'Grünwald', 'max@acme.example', true, true, '2026-11-23 15:01:04.765852'),
	(6, '!bR9AbfVPudHW7ayk3cMEV7kFt4lK2eVuTudChRnP', NULL, false, 'sam@support.example', 'Sam', 'O''Leary', 'sam@support.example', true, true, '2026-11-23 15:01:04.774315'),
	(7, '!SAyc8hTrAmc7QrwGtzIwLd8YiRZbBzlA9qUvsAVK', NULL, true, 'olga@operator.example', 'Olga', 'Ōta', 'olga@operator.example', true, true, '2026-11-23 15:01:04.787641'),
	(8, '!3ASEbX8FqFByzVKr3DufEScja8hxGoTl7E2676PN', NULL, false, 'ian@umbrella.example', '', '', 'ian@umbrella.example', true, true, '2026-11-23 15:01:05.032763');
INSERT INTO auth_user_groups VALUES
	(1, 6, 1);
INSERT INTO django_content_type VALUES
	(1, 'workspaces', 'membership'),
	(2, 'workspaces', 'workspace'),
	(3, 'workspaces', 'documentcount'),
	(4, 'workspaces', 'invitation'),
	(5, 'workspaces', 'confirmedaddress'),
	(6, 'audit', 'auditentry'),
	(7, 'audit', 'checkpoint'),
	(8, 'audit', 'leaf'),
	(9, 'audit', 'subtree'),
	(10, 'apikeys', 'apikey'),
	(11, 'usage', 'flushedbatch'),
	(12, 'usage', 'keyaddress'),
	(13, 'usage', 'keyusage'),
	(14, 'usage', 'refusedrequest'),
	(15, 'documents', 'storedfile'),
	(16, 'documents', 'document'),
	(17, 'documents', 'recipient'),
	(18, 'events', 'generation'),
	(19, 'events', 'event'),
	(20, 'webhooks', 'process'),
	(21, 'webhooks', 'endpoint'),
	(22, 'webhooks', 'delivery'),
	(23, 'webhooks', 'attempt'),
	(24, 'otp_static', 'staticdevice'),
	(25, 'otp_static', 'statictoken'),
	(26, 'otp_totp', 'totpdevice'),
	(27, 'admin', 'logentry'),
	(28, 'auth', 'permission'),
	(29, 'auth', 'group'),
	(30, 'auth', 'user'),
	(31, 'contenttypes', 'contenttype'),
	(32, 'sessions', 'session');
INSERT INTO django_migrations VALUES
	(1, 'contenttypes', '0001_initial', '2026-11-23 15:00:57.898578'),
	(2, 'auth', '0001_initial', '2026-11-23 15:00:57.974782'),
	(3, 'admin', '0001_initial', '2026-11-23 15:00:58.001455'),
	(4, 'admin', '0002_logentry_remove_auto_add', '2026-11-23 15:00:58.011569'),
	(5, 'admin', '0003_logentry_add_action_flag_choices', '2026-11-23 15:00:58.027043'),
	(6, 'workspaces', '0001_initial', '2026-11-23 15:00:58.106995'),
	(7, 'apikeys', '0001_initial', '2026-11-23 15:00:58.140623'),
	(8, 'apikeys', '0002_key_prefix_index', '2026-11-23 15:00:58.177236'),
	(9, 'apikeys', '0003_expiry_and_note', '2026-11-23 15:00:58.233123'),
	(10, 'apikeys', '0004_replaced_by', '2026-11-23 15:00:58.25396'),
	(11, 'audit', '0001_initial', '2026-11-23 15:00:58.272295'),
	(12, 'audit', '0002_history_indexes', '2026-11-23 15:00:58.346119'),
	(13, 'audit', '0003_audit_log', '2026-11-23 15:00:58.362258'),
	(14, 'audit', '0004_append_only', '2026-11-23 15:00:58.438433'),
	(15, 'audit', '0005_longer_detail', '2026-11-23 15:00:58.456102'),
	(16, 'audit', '0006_actions_of_the_console', '2026-11-23 15:00:58.471123'),
	(17, 'audit', '0007_search_indexes', '2026-11-23 15:00:58.830009'),
	(18, 'audit', '0008_webhook_actions', '2026-11-23 15:00:58.843417'),
	(19, 'audit', '0009_labels_in_python', '2026-11-23 15:00:58.863307'),
	(20, 'audit', '0010_guarded_function', '2026-11-23 15:00:58.872014'),
	(21, 'contenttypes', '0002_remove_content_type_name', '2026-11-23 15:00:58.914741'),
	(22, 'auth', '0002_alter_permission_name_max_length', '2026-11-23 15:00:58.95567'),
	(23, 'auth', '0003_alter_user_email_max_length', '2026-11-23 15:00:58.985715'),
	(24, 'auth', '0004_alter_user_username_opts', '2026-11-23 15:00:59.000623'),
	(25, 'auth', '0005_alter_user_last_login_null', '2026-11-23 15:00:59.046348'),
	(26, 'auth', '0006_require_contenttypes_0002', '2026-11-23 15:00:59.060477'),
	(27, 'auth', '0007_alter_validators_add_error_messages', '2026-11-23 15:00:59.09001'),
	(28, 'auth', '0008_alter_user_username_max_length', '2026-11-23 15:00:59.128749'),
	(29, 'auth', '0009_alter_user_last_name_max_length', '2026-11-23 15:00:59.161826'),
	(30, 'auth', '0010_alter_group_name_max_length', '2026-11-23 15:00:59.197547'),
	(31, 'auth', '0011_update_proxy_permissions', '2026-11-23 15:00:59.244962'),
	(32, 'auth', '0012_alter_user_first_name_max_length', '2026-11-23 15:00:59.28542'),
	(33, 'workspaces', '0002_document_counts', '2026-11-23 15:00:59.301499'),
	(34, 'workspaces', '0003_invitations', '2026-11-23 15:00:59.34569'),
	(35, 'workspaces', '0004_fold_document_counts', '2026-11-23 15:00:59.34806'),
	(36, 'documents', '0001_initial', '2026-11-23 15:00:59.650772'),
	(37, 'documents', '0002_admin_index', '2026-11-23 15:00:59.685214'),
	(38, 'documents', '0003_document_counts', '2026-11-23 15:00:59.792499'),
	(39, 'documents', '0004_checked_at', '2026-11-23 15:00:59.809862'),
	(40, 'documents', '0005_checked_at_index', '2026-11-23 15:00:59.827704'),
	(41, 'documents', '0006_count_triggers', '2026-11-23 15:00:59.879587'),
	(42, 'events', '0001_events', '2026-11-23 15:00:59.90047'),
	(43, 'events', '0002_quicker_trigger', '2026-11-23 15:00:59.902789'),
	(44, 'events', '0003_guarded_functions', '2026-11-23 15:00:59.908979'),
	(45, 'otp_static', '0001_initial', '2026-11-23 15:00:59.984968'),
	(46, 'otp_static', '0002_throttling', '2026-11-23 15:01:00.013916'),
	(47, 'otp_static', '0003_add_timestamps', '2026-11-23 15:01:00.04828'),
	(48, 'otp_totp', '0001_initial', '2026-11-23 15:01:00.084462'),
	(49, 'otp_totp', '0002_auto_20190420_0723', '2026-11-23 15:01:00.1331'),
	(50, 'otp_totp', '0003_add_timestamps', '2026-11-23 15:01:00.19338'),
	(51, 'sessions', '0001_initial', '2026-11-23 15:01:00.205915'),
	(52, 'usage', '0001_usage', '2026-11-23 15:01:00.263518'),
	(53, 'webhooks', '0001_webhooks', '2026-11-23 15:01:00.782343'),
	(54, 'webhooks', '0002_quicker_trigger', '2026-11-23 15:01:00.790631'),
	(55, 'workspaces', '0005_confirmed_addresses', '2026-11-23 15:01:00.862495');
INSERT INTO documents_document VALUES
	('a7386524-c572-4c11-89e6-448be6f0878b', 'Office lease – Besançon, unit 22', 'PARTIALLY_SIGNED', 'office-lease-unit-22.pdf', 4, 28250, 'PARALLEL', '2026-09-16 12:25:52', '2026-09-16 12:30:42', NULL, '2026-12-15 12:30:42', NULL, '0637e301-e05d-505b-8267-486f5677de9b', NULL, 1, NULL),
	('3b717a05-8694-489c-962d-d2334b39503c', 'Mutual NDA – Quinta do Açor, Lda.', 'DECLINED', 'NDA 2026-72.pdf', 3, 25620, 'PARALLEL', '2026-10-07 10:27:14', '2026-10-07 10:38:21', NULL, '2026-11-06 10:38:21', NULL, '0637e301-e05d-505b-8267-486f5677de9b', NULL, 3, NULL),
	('ac57d3d5-97ba-432c-84f6-aff42004d99a', 'Mutual NDA – Nordlicht Ölmühle GmbH', 'VIEWED', 'NDA 2026-43.pdf', 3, 25620, 'SEQUENTIAL', '2026-09-30 12:41:47', '2026-09-30 13:00:33', NULL, '2026-12-29 13:00:33', NULL, '0637e301-e05d-505b-8267-486f5677de9b', NULL, 5, NULL),
	('537a75a7-aa37-4aac-8635-ceea99c76ec2', 'Договор поставки № 58', 'CANCELLED', 'Договор поставки 58.pdf', 2, 21483, 'SEQUENTIAL', '2026-06-30 11:19:20', '2026-06-30 11:53:50', NULL, NULL, NULL, '0637e301-e05d-505b-8267-486f5677de9b', NULL, 7, NULL),
	('5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'Mutual NDA – Quinta do Açor, Lda.', 'COMPLETED', 'NDA 2026-88.pdf', 2, 21483, 'PARALLEL', '2026-07-29 19:58:49', '2026-07-29 21:11:18', '2026-08-02 09:14:46', '2026-10-27 21:11:18', NULL, '0637e301-e05d-505b-8267-486f5677de9b', 10, 9, 8),
	('6ebf30ca-9819-425f-9d79-dd4ad9c8cd57', 'Σύμβαση συνεργασίας – Maple Ridge Logistics Inc.', 'SENT', 'Σύμβαση συνεργασίας 39.pdf', 1, 18430, 'SEQUENTIAL', '2026-10-26 15:58:06', '2026-10-26 17:04:01', NULL, '2027-01-24 17:04:01', NULL, 'e5ab823a-ded4-5251-93eb-68b932aa507a', NULL, 11, NULL),
	('d3b1986e-180a-4ab3-9ac0-833c8b95245a', 'Σύμβαση συνεργασίας – Smörgås & Söner AB', 'COMPLETED', 'Σύμβαση συνεργασίας 49.pdf', 1, 18430, 'SEQUENTIAL', '2026-09-12 14:17:33', '2026-09-12 15:56:44', '2026-11-23 15:01:07.912709', '2026-12-11 15:56:44', NULL, '0637e301-e05d-505b-8267-486f5677de9b', 13, 2, 12),
	('94906e4b-f20d-4eed-a70a-7eadf0fc73fe', 'Mutual NDA – Łódzkie Pracownie sp. z o.o.', 'SENT', 'NDA 2026-4.pdf', 2, 21483, 'PARALLEL', '2026-09-21 16:21:16', '2026-11-23 15:01:09.242037', NULL, NULL, NULL, '0637e301-e05d-505b-8267-486f5677de9b', NULL, 4, NULL),
	('84455733-e57e-4693-b8a6-07894a4df91a', 'Mutual NDA – Tidewater Property Trust', 'EXPIRED', 'NDA 2026-39.pdf', 4, 28250, 'PARALLEL', '2026-08-05 12:46:53', '2026-08-05 13:30:09', NULL, '2026-08-19 13:30:09', '2026-11-23 15:01:09.251755', '0637e301-e05d-505b-8267-486f5677de9b', NULL, 6, NULL);
INSERT INTO documents_recipient VALUES
	('ecdb65b5-82cb-4c84-87f5-fd4224f4f8a9', 'Max Grünwald', 'max@acme.example', 'APPROVER', 'APPROVED', 1, '2026-09-16 12:30:42', '2026-09-16 15:51:46', '2026-09-16 16:30:17', NULL, NULL, 'a7386524-c572-4c11-89e6-448be6f0878b'),
	('a74f748d-81ab-4e5a-b233-9f261db530f7', 'Karel Novotný', 'karel@acme.example', 'SIGNER', 'SENT', 2, '2026-09-16 12:30:42', NULL, NULL, NULL, NULL, 'a7386524-c572-4c11-89e6-448be6f0878b'),
	('53611a0f-1a59-4e45-827e-d7382ed53ee8', 'Zoë Brückner', 'zoe.brueckner@fontaine.example', 'SIGNER', 'SIGNED', 3, '2026-09-16 12:30:42', '2026-09-16 15:12:23', '2026-09-16 22:08:46', NULL, NULL, 'a7386524-c572-4c11-89e6-448be6f0878b'),
	('405e33cf-e954-4579-a866-a929de2df874', 'Františka Dvořáková', 'f.dvorakova@fontaine.example', 'CC', 'VIEWED', 4, '2026-09-16 12:30:42', '2026-09-17 08:41:35', NULL, NULL, NULL, 'a7386524-c572-4c11-89e6-448be6f0878b'),
	('a21156c3-b256-4430-8106-1eb5a4f7cbe5', 'Олена Ґалаґан', 'olena.galagan@smorgas.example', 'VIEWER', 'PENDING', 3, NULL, NULL, NULL, NULL, NULL, 'd3b1986e-180a-4ab3-9ac0-833c8b95245a'),
	('9abca469-e5f0-4c2d-a76b-76ef8b8d1c76', 'Beatrix Vögele', 'beatrix@acme.example', 'SIGNER', 'SENT', 1, '2026-10-07 10:38:21', NULL, NULL, NULL, NULL, '3b717a05-8694-489c-962d-d2334b39503c'),
	('c49f94c6-0353-4d3f-9171-100c7e03ebd2', 'Αλεξάνδρα Παπαδοπούλου', 'a.papadopoulou@acor.example', 'SIGNER', 'DECLINED', 2, '2026-10-07 10:38:21', '2026-10-08 22:30:21', NULL, '2026-10-09 12:27:13', 'We have decided to go with another supplier.', '3b717a05-8694-489c-962d-d2334b39503c'),
	('cbb47825-5748-4aea-ade9-9da036e1b2ce', 'Karel Novotný', 'karel@acme.example', 'SIGNER', 'PENDING', 1, NULL, NULL, NULL, NULL, NULL, '94906e4b-f20d-4eed-a70a-7eadf0fc73fe'),
	('f37c6bab-fcf0-4973-93ec-1a6475c25580', 'Robert Ainsworth', 'robert.ainsworth@pracownie.example', 'SIGNER', 'PENDING', 2, NULL, NULL, NULL, NULL, NULL, '94906e4b-f20d-4eed-a70a-7eadf0fc73fe'),
	('0e28ec5c-12af-4a35-8ca8-47a5ea9e8830', 'Karel Novotný', 'karel@acme.example', 'SIGNER', 'VIEWED', 1, '2026-09-30 13:00:33', '2026-10-02 09:33:23', NULL, NULL, NULL, 'ac57d3d5-97ba-432c-84f6-aff42004d99a'),
	('2b0b3b61-eadd-4415-863d-75c1b2014e11', 'Zoë Brückner', 'zoe.brueckner@nordlicht.example', 'SIGNER', 'PENDING', 2, NULL, NULL, NULL, NULL, NULL, 'ac57d3d5-97ba-432c-84f6-aff42004d99a'),
	('27007414-527e-43b7-8045-83d69549743b', 'Karel Novotný', 'karel@acme.example', 'SIGNER', 'SENT', 1, '2026-08-05 13:30:09', NULL, NULL, NULL, NULL, '84455733-e57e-4693-b8a6-07894a4df91a'),
	('a36017e6-275d-4808-a756-21a11576fdcc', 'Margaret Okafor', 'margaret.okafor@tidewater.example', 'SIGNER', 'VIEWED', 2, '2026-08-05 13:30:09', '2026-08-05 13:46:14', NULL, NULL, NULL, '84455733-e57e-4693-b8a6-07894a4df91a'),
	('7f936c38-9896-4551-acdb-93b96069a3d2', 'Ada Núñez', 'ada@acme.example', 'APPROVER', 'VIEWED', 1, '2026-06-30 11:53:50', '2026-07-01 21:44:10', NULL, NULL, NULL, '537a75a7-aa37-4aac-8635-ceea99c76ec2'),
	('c47bc82d-8b66-48e2-bc34-d5e3cafe3e92', 'Max Grünwald', 'max@acme.example', 'SIGNER', 'PENDING', 2, NULL, NULL, NULL, NULL, NULL, '537a75a7-aa37-4aac-8635-ceea99c76ec2'),
	('4c22c2c2-0d91-4c5a-a485-9321e4dfd57f', 'Ágnes Szűcs', 'agnes.szucs@kyma.example', 'SIGNER', 'PENDING', 3, NULL, NULL, NULL, NULL, NULL, '537a75a7-aa37-4aac-8635-ceea99c76ec2'),
	('66c42f50-4bce-4312-93ca-a0e1ba529879', 'Max Grünwald', 'max@acme.example', 'SIGNER', 'SIGNED', 1, '2026-07-29 21:11:18', '2026-07-30 04:55:50', '2026-08-02 08:46:28', NULL, NULL, '5fbfae41-f85d-4058-97db-f3c2c894b8d2'),
	('85dcf8ec-61db-44c5-8c62-933900b12bcb', 'Františka Dvořáková', 'f.dvorakova@acor.example', 'SIGNER', 'SIGNED', 2, '2026-07-29 21:11:18', '2026-08-01 04:17:01', '2026-08-02 09:14:46', NULL, NULL, '5fbfae41-f85d-4058-97db-f3c2c894b8d2'),
	('83dc57a1-e193-4534-a493-773296e7dbcf', 'Uma Šimková', 'uma@umbrella.example', 'SIGNER', 'BOUNCED', 1, '2026-10-26 17:04:01', NULL, NULL, NULL, NULL, '6ebf30ca-9819-425f-9d79-dd4ad9c8cd57'),
	('ed06802f-c6f6-45e4-a80e-3ae68ad35ca2', 'João Conceição', 'joao.conceicao@mapleridge.example', 'SIGNER', 'PENDING', 2, NULL, NULL, NULL, NULL, NULL, '6ebf30ca-9819-425f-9d79-dd4ad9c8cd57'),
	('02fd4cfb-e979-4d72-8f72-6e4b47ec32f5', 'Đorđe Petrović', 'djordje.petrovic@mapleridge.example', 'VIEWER', 'PENDING', 3, NULL, NULL, NULL, NULL, NULL, '6ebf30ca-9819-425f-9d79-dd4ad9c8cd57'),
	('6c46e922-c1ff-4f13-b17c-176023c78c5a', 'Max Grünwald', 'max@acme.example', 'SIGNER', 'SIGNED', 1, '2026-09-12 15:56:44', '2026-11-23 15:01:07.925231', '2026-11-23 15:01:07.925231', NULL, NULL, 'd3b1986e-180a-4ab3-9ac0-833c8b95245a'),
	('a8981f02-1e86-477d-8289-17ea9ed093bf', 'Thomas Whitfield', 't.whitfield@smorgas.example', 'SIGNER', 'SIGNED', 2, '2026-11-23 15:01:07.925231', '2026-11-23 15:01:07.925231', '2026-11-23 15:01:07.925231', NULL, NULL, 'd3b1986e-180a-4ab3-9ac0-833c8b95245a');
INSERT INTO documents_storedfile VALUES
	(1, '433de73d4b3d4c469cf7967a540d934a.pdf', 28250, '67d7cd5947dfe984b2716584ed03552a4506c14ec10450d6c811ed8cced4f769', '2026-11-23 15:01:04.516152', NULL),
	(2, 'b19d0d09b9164ff2b6cb5b8900c16f08.pdf', 18430, 'd8e15b8f0c3d30e3103a28b461affdc315095ec4d19b7db791f1abcf963bd57d', '2026-11-23 15:01:04.516234', NULL),
	(3, '29b4ba597bb644cd9d7e88a77aa55ee6.pdf', 25620, '30ffb115aff1c6f75d43b57e0f30bcd9260c7a9319f5ccef4f7b22ddda88e6b9', '2026-11-23 15:01:04.516253', NULL),
	(4, 'e370445a1a614c30bc3aa22ea093655e.pdf', 21483, '4197decca7c1256746f249aa95562d552001d3631a4495120d31dd77f8b0ec42', '2026-11-23 15:01:04.516267', NULL),
	(5, 'f24efd1c1c1041858e94b2d6a6ce9cb8.pdf', 25620, '30ffb115aff1c6f75d43b57e0f30bcd9260c7a9319f5ccef4f7b22ddda88e6b9', '2026-11-23 15:01:04.516279', NULL),
	(6, '965d31b2275a49b3a001f72de868ce9f.pdf', 28250, '67d7cd5947dfe984b2716584ed03552a4506c14ec10450d6c811ed8cced4f769', '2026-11-23 15:01:04.516291', NULL),
	(7, 'c82e6d9efeba46df8bcab3db451c4f3b.pdf', 21483, '4197decca7c1256746f249aa95562d552001d3631a4495120d31dd77f8b0ec42', '2026-11-23 15:01:04.516301', NULL),
	(8, 'ba06b6cd4ba44332a4a06d1db36715d9.pdf', 24048, 'c4a691cacda4064639cc966a91c7288a44607c4a7fcfe01b6df3ecf2b204ab39', '2026-11-23 15:01:04.516314', NULL),
	(9, '3f470c5bc1624adfa1a4e1d28be7e168.pdf', 21483, '4197decca7c1256746f249aa95562d552001d3631a4495120d31dd77f8b0ec42', '2026-11-23 15:01:04.516329', NULL),
	(10, '4dbaa18c0dfc4e5ba14c296fa8c561dc.pdf', 18280, 'b628b2801f0762727755bfd1872fedac82b2d998f18e58a000f1b3cc688c6170', '2026-11-23 15:01:04.516339', NULL),
	(11, 'd668c7cc3bd246ba974f12feec15e309.pdf', 18430, 'd8e15b8f0c3d30e3103a28b461affdc315095ec4d19b7db791f1abcf963bd57d', '2026-11-23 15:01:04.618511', NULL),
	(12, '58b3f215f8e94aa999b4325f4e6e6ef9.pdf', 32761, 'a008621215be2fe6f8b4d6987935f4ad05a7fe6e1483ec16563a97e0daebb911', '2026-11-23 15:01:07.901018', NULL),
	(13, 'b0dcff5c1fc646469edc9bd22f8da418.pdf', 18278, '6f92ed06a2e5f53b648208d800b60e992023cfee277eb4d6f323c6d1134aa386', '2026-11-23 15:01:07.911049', NULL);
INSERT INTO events_event VALUES
	(1, 3760, '6d9ce7c0-3ee4-4e2f-8873-e90187302585', '0637e301-e05d-505b-8267-486f5677de9b', 'document.created', '2026-11-23 15:01:04.539722', '537a75a7-aa37-4aac-8635-ceea99c76ec2', 'CANCELLED'),
	(2, 3760, '83595f8d-0d11-406f-b744-630d6c07e4d8', '0637e301-e05d-505b-8267-486f5677de9b', 'document.cancelled', '2026-11-23 15:01:04.539919', '537a75a7-aa37-4aac-8635-ceea99c76ec2', 'CANCELLED'),
	(3, 3760, 'dc188fe7-b394-4f79-aba3-90b7eb669962', '0637e301-e05d-505b-8267-486f5677de9b', 'document.created', '2026-11-23 15:01:04.539928', '5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'COMPLETED'),
	(4, 3760, '750db75a-48d0-42e9-8ab4-b82c33548d75', '0637e301-e05d-505b-8267-486f5677de9b', 'document.completed', '2026-11-23 15:01:04.539935', '5fbfae41-f85d-4058-97db-f3c2c894b8d2', 'COMPLETED'),
	(5, 3760, '09a2e575-d73c-428c-8566-6f430abd4ef8', '0637e301-e05d-505b-8267-486f5677de9b', 'document.created', '2026-11-23 15:01:04.539944', '84455733-e57e-4693-b8a6-07894a4df91a', 'EXPIRED'),
	(6, 3760, 'e71b3560-6687-4d19-8d37-30eb0b53d3f8', '0637e301-e05d-505b-8267-486f5677de9b', 'document.expired', '2026-11-23 15:01:04.53995', '84455733-e57e-4693-b8a6-07894a4df91a', 'EXPIRED'),
	(7, 3760, '514160b7-0f73-4105-a75b-364f0335a303', '0637e301-e05d-505b-8267-486f5677de9b', 'document.created', '2026-11-23 15:01:04.539955', 'd3b1986e-180a-4ab3-9ac0-833c8b95245a', 'SENT'),
	(8, 3760, '1293ded8-b8d8-4509-b40a-b00cbccb6b8a', '0637e301-e05d-505b-8267-486f5677de9b', 'document.sent', '2026-11-23 15:01:04.539961', 'd3b1986e-180a-4ab3-9ac0-833c8b95245a', 'SENT'),
	(9, 3760, 'dbe88f31-c298-4365-8447-fa217bc72eb8', '0637e301-e05d-505b-8267-486f5677de9b', 'document.created', '2026-11-23 15:01:04.539966', 'a7386524-c572-4c11-89e6-448be6f0878b', 'PARTIALLY_SIGNED'),
	(10, 3760, '076232b3-f275-465c-aedf-d1fdf7002d9d', '0637e301-e05d-505b-8267-486f5677de9b', 'document.partially_signed', '2026-11-23 15:01:04.539972', 'a7386524-c572-4c11-89e6-448be6f0878b', 'PARTIALLY_SIGNED'),
	(11, 3760, '143b6d44-c4b5-40c9-8d2a-1f01613cd49b', '0637e301-e05d-505b-8267-486f5677de9b', 'document.created', '2026-11-23 15:01:04.539977', '94906e4b-f20d-4eed-a70a-7eadf0fc73fe', 'DRAFT'),
	(12, 3760, '69dc6fdb-cbfd-4097-9600-f48f3eba7ecd', '0637e301-e05d-505b-8267-486f5677de9b', 'document.created', '2026-11-23 15:01:04.539983', 'ac57d3d5-97ba-432c-84f6-aff42004d99a', 'VIEWED'),
	(13, 3760, 'cef7cb70-c2b3-497f-83f5-f462c257e2df', '0637e301-e05d-505b-8267-486f5677de9b', 'document.viewed', '2026-11-23 15:01:04.539988', 'ac57d3d5-97ba-432c-84f6-aff42004d99a', 'VIEWED'),
	(14, 3760, 'cb4c049a-be09-4c14-959f-f1dabd2dc48d', '0637e301-e05d-505b-8267-486f5677de9b', 'document.created', '2026-11-23 15:01:04.539994', '3b717a05-8694-489c-962d-d2334b39503c', 'DECLINED'),
	(15, 3760, '7d728cbf-86eb-442f-a57f-47917139e7bb', '0637e301-e05d-505b-8267-486f5677de9b', 'document.declined', '2026-11-23 15:01:04.540001', '3b717a05-8694-489c-962d-d2334b39503c', 'DECLINED'),
	(16, 3762, '43b68ce0-eefe-4d27-a0ed-0b586671ca58', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'document.created', '2026-11-23 15:01:04.62196', '6ebf30ca-9819-425f-9d79-dd4ad9c8cd57', 'SENT'),
	(17, 3762, '93aab77b-df6c-4283-bf4d-601a571fdad3', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'document.sent', '2026-11-23 15:01:04.621984', '6ebf30ca-9819-425f-9d79-dd4ad9c8cd57', 'SENT'),
	(18, 3815, 'c3f4b1f1-f6aa-4272-b987-099fd1d5bb3f', '0637e301-e05d-505b-8267-486f5677de9b', 'document.completed', '2026-11-23 15:01:07.915493', 'd3b1986e-180a-4ab3-9ac0-833c8b95245a', 'COMPLETED'),
	(19, 3816, '97fdc56e-5048-4bd7-ae76-80186a90eca2', '0637e301-e05d-505b-8267-486f5677de9b', 'document.sent', '2026-11-23 15:01:09.243802', '94906e4b-f20d-4eed-a70a-7eadf0fc73fe', 'SENT'),
	(20, 3817, 'df756c1b-eaf9-439a-ba6b-98bb39ced039', '0637e301-e05d-505b-8267-486f5677de9b', 'document.deleted', '2026-11-23 15:01:09.253805', '84455733-e57e-4693-b8a6-07894a4df91a', 'EXPIRED');
INSERT INTO otp_static_staticdevice VALUES
	(1, 'default', true, 2, 0, NULL, '2026-11-23 15:01:05.109502', NULL);
INSERT INTO otp_static_statictoken VALUES
	(1, 'abcd2345', 1);
INSERT INTO otp_totp_totpdevice VALUES
	(1, 'default', true, '88e7a01fa283df7597c94c723d90210ca936bc02', 30, 0, 6, 1, 0, -1, 2, 0, NULL, '2026-11-23 15:01:05.096409', NULL);
INSERT INTO usage_flushedbatch VALUES
	('2dd440be-23d2-47c3-9cde-a7195fecece4', 'usage', 2, '2026-11-23 15:01:27.589751'),
	('2dd440be-23d2-47c3-9cde-a7195fecece4', 'addresses', 3, '2026-11-23 15:01:27.601907'),
	('2dd440be-23d2-47c3-9cde-a7195fecece4', 'refused', 4, '2026-11-23 15:01:27.645249');
INSERT INTO usage_keyaddress VALUES
	('06e1e559-36c8-480b-ae80-db3986dffe90', '127.0.0.1', 'warehouse/2.1', '2026-11-23 15:01:27.086026', '2026-11-23 15:01:27.213552', 17),
	('32546ca1-68c2-444c-bf50-8c14d85bd8a3', '127.0.0.1', 'warehouse/2.1', '2026-11-23 15:01:27.162798', '2026-11-23 15:01:27.214893', 4),
	('659879ef-cfde-4001-a62d-87587ac7327f', '127.0.0.1', 'warehouse/2.1', '2026-11-23 15:01:27.16952', '2026-11-23 15:01:27.16952', 1),
	('ef196c70-ef55-4825-b6c7-88d6308b9257', '127.0.0.1', 'warehouse/2.1', '2026-11-23 15:01:27.170902', '2026-11-23 15:01:27.170902', 1);
INSERT INTO usage_keyusage VALUES
	('06e1e559-36c8-480b-ae80-db3986dffe90', '2026-11-23', '0637e301-e05d-505b-8267-486f5677de9b', 15, 2, 0, 3),
	('32546ca1-68c2-444c-bf50-8c14d85bd8a3', '2026-11-23', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 3, 1, 0, 0),
	('659879ef-cfde-4001-a62d-87587ac7327f', '2026-11-23', 'c4c8b7dd-4318-5978-bf02-5aab43e469c8', 0, 1, 0, 0),
	('ef196c70-ef55-4825-b6c7-88d6308b9257', '2026-11-23', 'd165400f-4a9a-57aa-8136-d7960733f5f3', 0, 1, 0, 0);
INSERT INTO usage_refusedrequest VALUES
	(1, '2026-11-23 15:01:22.982458', 'de1918a0dcf943cfbf58275a0f1a2f9c', 401, 'A valid API key is required. Send it in the header ''Authorization: Bearer dtd_...''; a workspace admin can create one in the developer settings.', 'No Authorization header.', 0, NULL, '', '', NULL, '', NULL, '127.0.0.1', 'warehouse/2.1', 'GET', '/api/v1/me'),
	(2, '2026-11-23 15:01:27.153669', 'c79e121082d24bfda1870591b68f5dd8', 404, 'There is no such document in this workspace.', 'The id in the path is malformed: it must be a UUID of 36 characters.', 0, '06e1e559-36c8-480b-ae80-db3986dffe90', 'Warehouse sync', 'dtd_B2RJBJxm', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', NULL, '127.0.0.1', 'warehouse/2.1', 'GET', '/api/v1/documents/nothing'),
	(3, '2026-11-23 15:01:27.1557', 'c22f06a718a94fd587378ad3b7c131ff', 400, 'The query parameter ''limit'' is not valid: it takes a whole number from 1 to 100.', 'The query parameter ''limit'' is not valid: it takes a whole number from 1 to 100.', 0, '06e1e559-36c8-480b-ae80-db3986dffe90', 'Warehouse sync', 'dtd_B2RJBJxm', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', NULL, '127.0.0.1', 'warehouse/2.1', 'GET', '/api/v1/documents'),
	(4, '2026-11-23 15:01:27.162798', '47b1b3295dbd491bab621aadf7c4f921', 404, 'There is no such document in this workspace.', 'No document has this id.', 0, '32546ca1-68c2-444c-bf50-8c14d85bd8a3', 'Reporting', 'dtd_2yc86cQd', 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'Umbrella', '5be4530f-e88c-4d72-b9ba-05e9ae7cee71', '127.0.0.1', 'warehouse/2.1', 'GET', '/api/v1/documents/5be4530f-e88c-4d72-b9ba-05e9ae7cee71'),
	(5, '2026-11-23 15:01:27.164248', '595de234ce924e03920d056543092e61', 401, 'A valid API key is required. Send it in the header ''Authorization: Bearer dtd_...''; a workspace admin can create one in the developer settings.', 'What was sent begins like the key “Warehouse sync”, but the rest differs: it was mistyped.', 0, '06e1e559-36c8-480b-ae80-db3986dffe90', 'Warehouse sync', 'dtd_B2RJBJxm', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', NULL, '127.0.0.1', 'warehouse/2.1', 'GET', '/api/v1/me'),
	(6, '2026-11-23 15:01:27.16952', '7dc61d28bddb490d99e055095b54bdb6', 402, 'The API is available on the Pro and Business plans; this workspace''s plan does not include it.', 'The workspace’s plan, FREE, does not include the API.', 0, '659879ef-cfde-4001-a62d-87587ac7327f', 'Trial', 'dtd_o2FbZQr7', 'c4c8b7dd-4318-5978-bf02-5aab43e469c8', 'Freebie', NULL, '127.0.0.1', 'warehouse/2.1', 'GET', '/api/v1/me'),
	(7, '2026-11-23 15:01:27.170902', '38c2931c25e74b47a4acbbd592dbfd92', 403, 'This workspace is suspended, so its API keys are refused. Please contact support.', 'The workspace is suspended.', 0, 'ef196c70-ef55-4825-b6c7-88d6308b9257', 'Old', 'dtd_L2CmqALD', 'd165400f-4a9a-57aa-8136-d7960733f5f3', 'Frozen', NULL, '127.0.0.1', 'warehouse/2.1', 'GET', '/api/v1/me'),
	(8, '2026-11-23 15:01:27.171895', 'fec537b4cbcb4a42848f5566365c4764', 401, 'A valid API key is required. Send it in the header ''Authorization: Bearer dtd_...''; a workspace admin can create one in the developer settings.', 'The key “Laptop” was revoked at 2026-11-23 15:01:04 UTC by ada@acme.example.', 0, '377cfd36-5668-4665-aaf0-cf2d865b4547', 'Laptop', 'dtd_T1pH425V', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', NULL, '127.0.0.1', 'warehouse/2.1', 'GET', '/api/v1/me'),
	(9, '2026-11-23 15:01:27.172673', '0a6d6867c8054bf296d297eada125d55', 401, 'A valid API key is required. Send it in the header ''Authorization: Bearer dtd_...''; a workspace admin can create one in the developer settings.', 'The key “Gone” was deleted at 2026-11-23 15:01:04 UTC by ada@acme.example.', 0, '37f18b02-6972-4259-9e1c-f5249a11fb69', 'Gone', 'dtd_Ck8QxLvr', '0637e301-e05d-505b-8267-486f5677de9b', 'Acme', NULL, '127.0.0.1', 'warehouse/2.1', 'GET', '/api/v1/me');
INSERT INTO webhooks_attempt VALUES
	(1, 1, '2026-11-23 15:01:17.652248', 483, 204, '', '', 1),
	(2, 1, '2026-11-23 15:01:18.09562', 40, 500, '', '', 2),
	(3, 1, '2026-11-23 15:01:18.096134', 40, 410, '', '', 5),
	(4, 1, '2026-11-23 15:01:18.106776', 55, 204, '', '', 3),
	(5, 1, '2026-11-23 15:01:18.10702', 54, 500, '', '', 4),
	(6, 1, '2026-11-23 15:01:18.107118', 54, 204, '', '', 6),
	(7, 1, '2026-11-23 15:01:18.107224', 54, 204, '', '', 7),
	(8, 2, '2026-11-23 15:01:24.235927', 18, 500, '', '', 4);
INSERT INTO webhooks_delivery VALUES
	(1, 'daa1c531-9bdf-412d-b78e-58d83aec87a0', 'webhook.test', '2026-11-23 15:01:05.314605', '00000000-0000-0000-0000-000000000000', 'COMPLETED', 0, 'DELIVERED', 1, 0, NULL, NULL, NULL, '2026-11-23 15:01:05.314605', 'b285d6db-e49e-43df-a2ea-2b23ccf5efa5'),
	(2, '142b3eb9-3575-4a34-a046-a2f7e75f9910', 'webhook.test', '2026-11-23 15:01:05.325571', '00000000-0000-0000-0000-000000000000', 'COMPLETED', 0, 'FAILED', 1, 1, NULL, NULL, NULL, '2026-11-23 15:01:05.325571', 'da033af5-826a-4117-ab81-d884fd696ef4'),
	(5, 'c3f4b1f1-f6aa-4272-b987-099fd1d5bb3f', 'document.completed', '2026-11-23 15:01:07.915493', 'd3b1986e-180a-4ab3-9ac0-833c8b95245a', 'COMPLETED', 18, 'PENDING', 1, 1, '2026-11-23 15:01:23.785138', NULL, NULL, '2026-11-23 15:01:07.912709', 'dd359a15-f921-4e05-85d3-2820bec292fd'),
	(3, 'c3f4b1f1-f6aa-4272-b987-099fd1d5bb3f', 'document.completed', '2026-11-23 15:01:07.915493', 'd3b1986e-180a-4ab3-9ac0-833c8b95245a', 'COMPLETED', 18, 'DELIVERED', 1, 0, NULL, NULL, NULL, '2026-11-23 15:01:07.912709', 'b285d6db-e49e-43df-a2ea-2b23ccf5efa5'),
	(6, '97fdc56e-5048-4bd7-ae76-80186a90eca2', 'document.sent', '2026-11-23 15:01:09.243802', '94906e4b-f20d-4eed-a70a-7eadf0fc73fe', 'SENT', 19, 'DELIVERED', 1, 0, NULL, NULL, NULL, '2026-11-23 15:01:09.242452', 'b285d6db-e49e-43df-a2ea-2b23ccf5efa5'),
	(7, 'df756c1b-eaf9-439a-ba6b-98bb39ced039', 'document.deleted', '2026-11-23 15:01:09.253805', '84455733-e57e-4693-b8a6-07894a4df91a', 'EXPIRED', 20, 'DELIVERED', 1, 0, NULL, NULL, NULL, '2026-11-23 15:01:09.253229', 'b285d6db-e49e-43df-a2ea-2b23ccf5efa5'),
	(4, 'c3f4b1f1-f6aa-4272-b987-099fd1d5bb3f', 'document.completed', '2026-11-23 15:01:07.915493', 'd3b1986e-180a-4ab3-9ac0-833c8b95245a', 'COMPLETED', 18, 'PENDING', 2, 2, '2026-11-23 15:06:07.60346', NULL, NULL, '2026-11-23 15:01:07.912709', 'da033af5-826a-4117-ab81-d884fd696ef4');
INSERT INTO webhooks_endpoint VALUES
	('b285d6db-e49e-43df-a2ea-2b23ccf5efa5', 'http://127.0.0.1:18480/ok', '{document.created,document.sent,document.viewed,document.partially_signed,document.completed,document.declined,document.expired,document.cancelled,document.deleted}', true, '', NULL, NULL, 'gAAAAABrBFUx5NmZKJhWj9GZiLeHWnx-qJFVSJk0QcLzq7U5g9HIkVxg0RDqPtksu7tjnIbOHqkb9veuhI5jXbMjg-kQ5mevK_xCYRfxpHIKn57QtxBL1epFAlpOczHbO7jHQ3DOFpY72Jt0ZF4WaEKZMoqvdOMIQg==', 'gAAAAABrBFUxl5Lxrhw31V2Y2xIcQKN_mYa5QNpr3AlmSF-lZ4eSGnRQHZiRE10D4jpaTl7EQxfHgMt_gLp9IbBpj2vniWMPbfBVrK-M-e9qQcMW2VDogoUD114tqjoDJsXnwRZ6OZfh7tEVbRBd38uFAkAPPYSoJw==', '2026-11-24 15:01:05.257872', '2026-11-23 15:01:05.13827', NULL, 1, '0637e301-e05d-505b-8267-486f5677de9b'),
	('da033af5-826a-4117-ab81-d884fd696ef4', 'http://127.0.0.1:18480/fails', '{document.completed}', true, '', NULL, '2026-11-23 15:01:18.673258', 'gAAAAABrBFUxAUAPfcKY3rkM3c15Rmb4PpiZJKjy_faXsx5baYKwYzDqGvwWjmRTBGtMuBHGJxssaM8L8_lYZskKFQ31NACVU2yMughvd4UCyNURPmOBIGFl-ytlqjxHa6RLNrkpQK0H80SbhZAXXEPHscLOe7XN0A==', '', NULL, '2026-11-23 15:01:05.151352', NULL, 1, '0637e301-e05d-505b-8267-486f5677de9b'),
	('dd359a15-f921-4e05-85d3-2820bec292fd', 'http://127.0.0.1:18480/gone', '{document.completed}', false, 'it responded with 410 Gone', '2026-11-23 15:01:18.745548', '2026-11-23 15:01:18.673258', 'gAAAAABrBFUxTMV8VO8D7vuB7KjrueewUaljAkcen3qCUMMHVWyxlW-EEmvsR2bAaTovtlwHBfLucHs4pMsShOpXtHMNxaX_LNHHbuqFfaqbkDr5sO8Cx0ASqvdavV1dLu9s46DNjncZHEugQp23w-V1dX09w0uEug==', '', NULL, '2026-11-23 15:01:05.211856', NULL, 1, '0637e301-e05d-505b-8267-486f5677de9b');
INSERT INTO webhooks_process VALUES
	(1, 'worker:15409', '2026-11-23 15:01:33.129639');
INSERT INTO workspaces_confirmedaddress VALUES
	(8, 'ian@umbrella.example', '2026-11-23 15:01:05.04402'),
	(1, 'ada@acme.example', '2026-11-23 15:01:05.061866');
INSERT INTO workspaces_documentcount VALUES
	(1, '0637e301-e05d-505b-8267-486f5677de9b', 'PARTIALLY_SIGNED', 1),
	(2, '0637e301-e05d-505b-8267-486f5677de9b', 'COMPLETED', 1),
	(3, '0637e301-e05d-505b-8267-486f5677de9b', 'DECLINED', 1),
	(4, '0637e301-e05d-505b-8267-486f5677de9b', 'CANCELLED', 1),
	(5, '0637e301-e05d-505b-8267-486f5677de9b', 'SENT', 1),
	(6, '0637e301-e05d-505b-8267-486f5677de9b', 'VIEWED', 1),
	(7, '0637e301-e05d-505b-8267-486f5677de9b', 'DRAFT', 1),
	(8, '0637e301-e05d-505b-8267-486f5677de9b', 'EXPIRED', 1),
	(9, 'e5ab823a-ded4-5251-93eb-68b932aa507a', 'SENT', 1),
	(10, '0637e301-e05d-505b-8267-486f5677de9b', 'SENT', -1),
	(11, '0637e301-e05d-505b-8267-486f5677de9b', 'COMPLETED', 1),
	(12, '0637e301-e05d-505b-8267-486f5677de9b', 'DRAFT', -1),
	(13, '0637e301-e05d-505b-8267-486f5677de9b', 'SENT', 1),
	(14, '0637e301-e05d-505b-8267-486f5677de9b', 'EXPIRED', -1);
INSERT INTO workspaces_invitation VALUES
	(1, 'ines@acme.example', 'MEMBER', '2d1fb9671a5f6d05fb419953d12a0e7f5731d984b99d968e717005a80c07aa00', '2026-11-23 15:01:04.973698', '2026-11-30 15:01:04.973318', NULL, NULL, 1, '0637e301-e05d-505b-8267-486f5677de9b', false),
	(2, 'ivan@acme.example', 'ADMIN', 'dda9b8e39afa60b13904513eebeaeef8c762a59276a835ab05315e2cf1c76980', '2026-11-23 15:01:04.99103', '2026-11-30 15:01:04.99076', NULL, '2026-11-23 15:01:04.997686', 1, '0637e301-e05d-505b-8267-486f5677de9b', false),
	(3, 'ian@umbrella.example', 'MEMBER', '183cb8604a69389e63b665347cf361c8ecc5d0917862c324f1a2adaaa8b2a73d', '2026-11-23 15:01:05.021691', '2026-11-30 15:01:05.021389', '2026-11-23 15:01:05.050123', NULL, 2, 'e5ab823a-ded4-5251-93eb-68b932aa507a', true);
INSERT INTO workspaces_membership VALUES
	(1, 'ADMIN', '2026-11-23 15:01:04.734915', 1, '0637e301-e05d-505b-8267-486f5677de9b'),
	(2, 'ADMIN', '2026-11-23 15:01:04.747638', 2, 'e5ab823a-ded4-5251-93eb-68b932aa507a'),
	(3, 'ADMIN', '2026-11-23 15:01:04.754291', 3, 'c4c8b7dd-4318-5978-bf02-5aab43e469c8'),
	(4, 'ADMIN', '2026-11-23 15:01:04.762237', 4, 'd165400f-4a9a-57aa-8136-d7960733f5f3'),
	(6, 'MEMBER', '2026-11-23 15:01:05.053784', 8, 'e5ab823a-ded4-5251-93eb-68b932aa507a'),
	(5, 'ADMIN', '2026-11-23 15:01:04.772658', 5, '0637e301-e05d-505b-8267-486f5677de9b');
INSERT INTO workspaces_workspace VALUES
	('0637e301-e05d-505b-8267-486f5677de9b', 'Acme', 'PRO', false, '2026-11-23 15:01:03.992044'),
	('c4c8b7dd-4318-5978-bf02-5aab43e469c8', 'Freebie', 'FREE', false, '2026-11-23 15:01:04.651836'),
	('d165400f-4a9a-57aa-8136-d7960733f5f3', 'Frozen', 'PRO', true, '2026-11-23 15:01:04.68779'),
	('e5ab823a-ded4-5251-93eb-68b932aa507a', 'Umbrella', 'PRO', false, '2026-11-23 15:01:04.590529');
SELECT setval('audit_auditentry_id_seq', 76, true);
SELECT setval('auth_group_id_seq', 1, true);
SELECT setval('auth_group_permissions_id_seq', 3, true);
SELECT setval('auth_permission_id_seq', 128, true);
SELECT setval('auth_user_groups_id_seq', 1, true);
SELECT setval('auth_user_id_seq', 8, true);
SELECT setval('auth_user_user_permissions_id_seq', 1, false);
SELECT setval('django_admin_log_id_seq', 1, false);
SELECT setval('django_content_type_id_seq', 32, true);
SELECT setval('django_migrations_id_seq', 55, true);
SELECT setval('documents_storedfile_id_seq', 13, true);
SELECT setval('events_event_id_seq', 20, true);
SELECT setval('events_generation_id_seq', 1, false);
SELECT setval('otp_static_staticdevice_id_seq', 1, true);
SELECT setval('otp_static_statictoken_id_seq', 1, true);
SELECT setval('otp_totp_totpdevice_id_seq', 1, true);
SELECT setval('usage_refusedrequest_id_seq', 9, true);
SELECT setval('webhooks_attempt_id_seq', 8, true);
SELECT setval('webhooks_delivery_id_seq', 7, true);
SELECT setval('webhooks_process_id_seq', 1, true);
SELECT setval('workspaces_documentcount_id_seq', 14, true);
SELECT setval('workspaces_invitation_id_seq', 3, true);
SELECT setval('workspaces_membership_id_seq', 6, true);
ALTER TABLE apikeys_apikey
 ADD CONSTRAINT apikeys_apikey_digest_key UNIQUE (digest);
ALTER TABLE apikeys_apikey
 ADD CONSTRAINT apikeys_apikey_pkey PRIMARY KEY (id);
ALTER TABLE webhooks_attempt
 ADD CONSTRAINT attempt_number UNIQUE (delivery_id, number);
ALTER TABLE audit_auditentry
 ADD CONSTRAINT audit_auditentry_pkey PRIMARY KEY (id);
ALTER TABLE audit_checkpoint
 ADD CONSTRAINT audit_checkpoint_pkey PRIMARY KEY (size);
ALTER TABLE audit_leaf
 ADD CONSTRAINT audit_leaf_entry_id_key UNIQUE (entry_id);
ALTER TABLE audit_leaf
 ADD CONSTRAINT audit_leaf_pkey PRIMARY KEY (index);
ALTER TABLE audit_subtree
 ADD CONSTRAINT audit_subtree_pkey PRIMARY KEY (level, index);
ALTER TABLE auth_group
 ADD CONSTRAINT auth_group_name_key UNIQUE (name);
ALTER TABLE auth_group_permissions
 ADD CONSTRAINT auth_group_permissions_group_id_permission_id_0cd325b0_uniq UNIQUE (group_id, permission_id);
ALTER TABLE auth_group_permissions
 ADD CONSTRAINT auth_group_permissions_pkey PRIMARY KEY (id);
ALTER TABLE auth_group
 ADD CONSTRAINT auth_group_pkey PRIMARY KEY (id);
ALTER TABLE auth_permission
 ADD CONSTRAINT auth_permission_content_type_id_codename_01ab375a_uniq UNIQUE (content_type_id, codename);
ALTER TABLE auth_permission
 ADD CONSTRAINT auth_permission_pkey PRIMARY KEY (id);
ALTER TABLE auth_user_groups
 ADD CONSTRAINT auth_user_groups_pkey PRIMARY KEY (id);
ALTER TABLE auth_user_groups
 ADD CONSTRAINT auth_user_groups_user_id_group_id_94350c0c_uniq UNIQUE (user_id, group_id);
ALTER TABLE auth_user
 ADD CONSTRAINT auth_user_pkey PRIMARY KEY (id);
ALTER TABLE auth_user_user_permissions
 ADD CONSTRAINT auth_user_user_permissions_pkey PRIMARY KEY (id);
ALTER TABLE auth_user_user_permissions
 ADD CONSTRAINT auth_user_user_permissions_user_id_permission_id_14a6b632_uniq UNIQUE (user_id, permission_id);
ALTER TABLE auth_user
 ADD CONSTRAINT auth_user_username_key UNIQUE (username);
ALTER TABLE django_admin_log
 ADD CONSTRAINT django_admin_log_pkey PRIMARY KEY (id);
ALTER TABLE django_content_type
 ADD CONSTRAINT django_content_type_app_label_model_76bd3d3b_uniq UNIQUE (app_label, model);
ALTER TABLE django_content_type
 ADD CONSTRAINT django_content_type_pkey PRIMARY KEY (id);
ALTER TABLE django_migrations
 ADD CONSTRAINT django_migrations_pkey PRIMARY KEY (id);
ALTER TABLE django_session
 ADD CONSTRAINT django_session_pkey PRIMARY KEY (session_key);
ALTER TABLE documents_document
 ADD CONSTRAINT documents_document_certificate_id_key UNIQUE (certificate_id);
ALTER TABLE documents_document
 ADD CONSTRAINT documents_document_original_id_key UNIQUE (original_id);
ALTER TABLE documents_document
 ADD CONSTRAINT documents_document_pkey PRIMARY KEY (id);
ALTER TABLE documents_document
 ADD CONSTRAINT documents_document_signed_id_key UNIQUE (signed_id);
ALTER TABLE documents_recipient
 ADD CONSTRAINT documents_recipient_pkey PRIMARY KEY (id);
ALTER TABLE documents_storedfile
 ADD CONSTRAINT documents_storedfile_object_key_key UNIQUE (object_key);
ALTER TABLE documents_storedfile
 ADD CONSTRAINT documents_storedfile_pkey PRIMARY KEY (id);
ALTER TABLE events_event
 ADD CONSTRAINT events_event_pkey PRIMARY KEY (id);
ALTER TABLE events_generation
 ADD CONSTRAINT events_generation_pkey PRIMARY KEY (id);
ALTER TABLE workspaces_membership
 ADD CONSTRAINT membership_once UNIQUE (workspace_id, user_id);
ALTER TABLE otp_static_staticdevice
 ADD CONSTRAINT otp_static_staticdevice_pkey PRIMARY KEY (id);
ALTER TABLE otp_static_statictoken
 ADD CONSTRAINT otp_static_statictoken_pkey PRIMARY KEY (id);
ALTER TABLE otp_totp_totpdevice
 ADD CONSTRAINT otp_totp_totpdevice_pkey PRIMARY KEY (id);
ALTER TABLE usage_flushedbatch
 ADD CONSTRAINT usage_flushedbatch_pkey PRIMARY KEY (process, kind);
ALTER TABLE usage_keyaddress
 ADD CONSTRAINT usage_keyaddress_pkey PRIMARY KEY (key_id, address);
ALTER TABLE usage_keyusage
 ADD CONSTRAINT usage_keyusage_pkey PRIMARY KEY (key_id, day);
ALTER TABLE usage_refusedrequest
 ADD CONSTRAINT usage_refusedrequest_pkey PRIMARY KEY (id);
ALTER TABLE webhooks_attempt
 ADD CONSTRAINT webhooks_attempt_pkey PRIMARY KEY (id);
ALTER TABLE webhooks_delivery
 ADD CONSTRAINT webhooks_delivery_pkey PRIMARY KEY (id);
ALTER TABLE webhooks_endpoint
 ADD CONSTRAINT webhooks_endpoint_pkey PRIMARY KEY (id);
ALTER TABLE webhooks_process
 ADD CONSTRAINT webhooks_process_name_key UNIQUE (name);
ALTER TABLE webhooks_process
 ADD CONSTRAINT webhooks_process_pkey PRIMARY KEY (id);
ALTER TABLE workspaces_confirmedaddress
 ADD CONSTRAINT workspaces_confirmedaddress_pkey PRIMARY KEY (user_id);
ALTER TABLE workspaces_documentcount
 ADD CONSTRAINT workspaces_documentcount_pkey PRIMARY KEY (id);
ALTER TABLE workspaces_invitation
 ADD CONSTRAINT workspaces_invitation_digest_key UNIQUE (digest);
ALTER TABLE workspaces_invitation
 ADD CONSTRAINT workspaces_invitation_pkey PRIMARY KEY (id);
ALTER TABLE workspaces_membership
 ADD CONSTRAINT workspaces_membership_pkey PRIMARY KEY (id);
ALTER TABLE workspaces_workspace
 ADD CONSTRAINT workspaces_workspace_pkey PRIMARY KEY (id);
CREATE INDEX apikey_newest ON apikeys_apikey (workspace_id, created_at DESC, id DESC);
CREATE INDEX apikey_prefix ON apikeys_apikey (prefix);
CREATE INDEX apikeys_apikey_created_by_id_b3c3f2e2 ON apikeys_apikey (created_by_id);
CREATE INDEX apikeys_apikey_digest_7576d6bc_like ON apikeys_apikey (digest varchar_pattern_ops);
CREATE INDEX apikeys_apikey_revoked_by_id_dd9fb04c ON apikeys_apikey (revoked_by_id);
CREATE INDEX apikeys_apikey_workspace_id_0236ef0d ON apikeys_apikey (workspace_id);
CREATE INDEX audit_action_newest ON audit_auditentry (action, created_at DESC, id DESC) WHERE (NOT ((action)::text = ANY ((ARRAY['document.downloaded'::varchar, 'document.download_ended'::varchar])::text[])));
CREATE INDEX audit_address_listed ON audit_auditentry (address, created_at DESC, id DESC) WHERE ((NOT ((action)::text = 'document.download_ended'::text)) AND (NOT ((address)::text = ''::text)));
CREATE INDEX audit_document_newest ON audit_auditentry (document_id, created_at DESC, id DESC) WHERE (document_id IS NOT NULL);
CREATE INDEX audit_key_name_listed ON audit_auditentry (upper((key_name)::text) COLLATE "C", created_at DESC, id DESC) WHERE (NOT ((action)::text = 'document.download_ended'::text));
CREATE INDEX audit_key_newest ON audit_auditentry (key_id, created_at DESC, id DESC);
CREATE INDEX audit_key_prefix_listed ON audit_auditentry (key_prefix, created_at DESC, id DESC) WHERE (NOT ((action)::text = 'document.download_ended'::text));
CREATE INDEX audit_member_listed ON audit_auditentry (upper((member)::text) COLLATE "C", created_at DESC, id DESC) WHERE (NOT ((member)::text = ''::text));
CREATE INDEX audit_newest ON audit_auditentry (created_at DESC, id DESC);
CREATE INDEX audit_person_listed ON audit_auditentry (upper((person)::text) COLLATE "C", created_at DESC, id DESC) WHERE (NOT ((person)::text = ''::text));
CREATE INDEX audit_request ON audit_auditentry (request_id);
CREATE INDEX audit_title_listed ON audit_auditentry (upper("left"((document_title)::text, 40)) COLLATE "C", document_id) WHERE ((NOT ((action)::text = 'document.download_ended'::text)) AND (document_id IS NOT NULL));
CREATE INDEX audit_workspace_action ON audit_auditentry (workspace_id, action, created_at DESC, id DESC) WHERE (NOT ((action)::text = ANY ((ARRAY['document.downloaded'::varchar, 'document.download_ended'::varchar])::text[])));
CREATE INDEX audit_workspace_newest ON audit_auditentry (workspace_id, created_at DESC, id DESC);
CREATE INDEX auth_group_name_a6ea08ec_like ON auth_group (name varchar_pattern_ops);
CREATE INDEX auth_group_permissions_group_id_b120cbf9 ON auth_group_permissions (group_id);
CREATE INDEX auth_group_permissions_permission_id_84c5c92e ON auth_group_permissions (permission_id);
CREATE INDEX auth_permission_content_type_id_2f476e4b ON auth_permission (content_type_id);
CREATE INDEX auth_user_groups_group_id_97559544 ON auth_user_groups (group_id);
CREATE INDEX auth_user_groups_user_id_6a12ed8b ON auth_user_groups (user_id);
CREATE INDEX auth_user_user_permissions_permission_id_1fbb5f2c ON auth_user_user_permissions (permission_id);
CREATE INDEX auth_user_user_permissions_user_id_a95ead1b ON auth_user_user_permissions (user_id);
CREATE INDEX auth_user_username_6821ab7c_like ON auth_user (username varchar_pattern_ops);
CREATE INDEX delivery_claimed ON webhooks_delivery (endpoint_id, claimed_until) WHERE (claimed_until IS NOT NULL);
CREATE INDEX delivery_due ON webhooks_delivery (endpoint_id, next_attempt_at, id) WHERE ((state)::text = 'PENDING'::text);
CREATE INDEX delivery_event ON webhooks_delivery (event_id);
CREATE INDEX delivery_first_attempt ON webhooks_delivery (endpoint_id, document_id, sequence) WHERE (((state)::text = 'PENDING'::text) AND (attempts = 0));
CREATE INDEX delivery_newest ON webhooks_delivery (endpoint_id, created_at DESC, id DESC);
CREATE INDEX delivery_state_newest ON webhooks_delivery (endpoint_id, state, created_at DESC, id DESC);
CREATE INDEX django_admin_log_content_type_id_c4bce8eb ON django_admin_log (content_type_id);
CREATE INDEX django_admin_log_user_id_c564eba6 ON django_admin_log (user_id);
CREATE INDEX django_session_expire_date_a5c62663 ON django_session (expire_date);
CREATE INDEX django_session_session_key_c0390e0f_like ON django_session (session_key varchar_pattern_ops);
CREATE INDEX document_all_newest ON documents_document (created_at DESC, id DESC);
CREATE INDEX document_newest ON documents_document (workspace_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX document_status_newest ON documents_document (workspace_id, status, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX documents_document_workspace_id_75c69096 ON documents_document (workspace_id);
CREATE INDEX documents_recipient_document_id_4caeb754 ON documents_recipient (document_id);
CREATE INDEX documents_storedfile_object_key_2bba48b3_like ON documents_storedfile (object_key varchar_pattern_ops);
CREATE INDEX endpoint_enabled ON webhooks_endpoint (workspace_id) WHERE ((deleted_at IS NULL) AND enabled);
CREATE INDEX event_next ON events_event (workspace_id, type, transaction, id);
CREATE INDEX event_of_document ON events_event (document_id, transaction);
CREATE UNIQUE INDEX invitation_pending_once ON workspaces_invitation (workspace_id, email) WHERE ((accepted_at IS NULL) AND (revoked_at IS NULL));
CREATE INDEX otp_static_staticdevice_user_id_7f9cff2b ON otp_static_staticdevice (user_id);
CREATE INDEX otp_static_statictoken_device_id_74b7c7d1 ON otp_static_statictoken (device_id);
CREATE INDEX otp_static_statictoken_token_d0a51866 ON otp_static_statictoken (token);
CREATE INDEX otp_static_statictoken_token_d0a51866_like ON otp_static_statictoken (token varchar_pattern_ops);
CREATE INDEX otp_totp_totpdevice_user_id_0fb18292 ON otp_totp_totpdevice (user_id);
CREATE INDEX refused_address ON usage_refusedrequest (address, created_at DESC, id DESC);
CREATE INDEX refused_document ON usage_refusedrequest (document_id, created_at DESC, id DESC) WHERE (document_id IS NOT NULL);
CREATE INDEX refused_key ON usage_refusedrequest (key_id, created_at DESC, id DESC);
CREATE INDEX refused_key_status ON usage_refusedrequest (key_id, status, created_at DESC, id DESC);
CREATE INDEX refused_known_key ON usage_refusedrequest (created_at DESC, id DESC) WHERE ((key_id IS NOT NULL) AND (status = 401));
CREATE INDEX refused_newest ON usage_refusedrequest (created_at DESC, id DESC);
CREATE INDEX refused_of_keys ON usage_refusedrequest (created_at DESC, id DESC) WHERE (key_id IS NOT NULL);
CREATE INDEX refused_prefix ON usage_refusedrequest (key_prefix, created_at DESC, id DESC);
CREATE INDEX refused_request ON usage_refusedrequest (request_id varchar_pattern_ops);
CREATE INDEX refused_status ON usage_refusedrequest (status, created_at DESC, id DESC);
CREATE INDEX refused_workspace ON usage_refusedrequest (workspace_id, created_at DESC, id DESC);
CREATE INDEX refused_workspace_status ON usage_refusedrequest (workspace_id, status, created_at DESC, id DESC);
CREATE INDEX storedfile_unchecked ON documents_storedfile (checked_at NULLS FIRST, id);
CREATE INDEX usage_day_workspace ON usage_keyusage (day, workspace_id);
CREATE INDEX webhooks_endpoint_created_by_id_f1288ec5 ON webhooks_endpoint (created_by_id);
CREATE INDEX webhooks_endpoint_workspace_id_7f5fbe8f ON webhooks_endpoint (workspace_id);
CREATE INDEX webhooks_process_name_e63176ab_like ON webhooks_process (name varchar_pattern_ops);
CREATE INDEX workspaces_documentcount_workspace_id_28dfa461 ON workspaces_documentcount (workspace_id);
CREATE INDEX workspaces_invitation_created_by_id_fc61ac60 ON workspaces_invitation (created_by_id);
CREATE INDEX workspaces_invitation_digest_17121a52_like ON workspaces_invitation (digest varchar_pattern_ops);
CREATE INDEX workspaces_invitation_workspace_id_5f5d7eee ON workspaces_invitation (workspace_id);
CREATE INDEX workspaces_membership_user_id_96a9ee37 ON workspaces_membership (user_id);
CREATE INDEX workspaces_membership_workspace_id_03c7ef39 ON workspaces_membership (workspace_id);
CREATE TRIGGER audit_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_auditentry FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();

ALTER TABLE audit_auditentry ENABLE ALWAYS TRIGGER audit_append_only;
CREATE TRIGGER audit_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_checkpoint FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();

ALTER TABLE audit_checkpoint ENABLE ALWAYS TRIGGER audit_append_only;
CREATE TRIGGER audit_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_leaf FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();

ALTER TABLE audit_leaf ENABLE ALWAYS TRIGGER audit_append_only;
CREATE TRIGGER audit_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON audit_subtree FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_change();

ALTER TABLE audit_subtree ENABLE ALWAYS TRIGGER audit_append_only;
CREATE TRIGGER audit_stamp BEFORE INSERT ON audit_auditentry FOR EACH ROW EXECUTE FUNCTION audit_stamp();
CREATE TRIGGER counts_added AFTER INSERT ON documents_document REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION documents_counts_added_removed();
CREATE TRIGGER counts_changed AFTER UPDATE OF status, deleted_at, workspace_id ON documents_document FOR EACH ROW EXECUTE FUNCTION documents_counts_changed();
CREATE TRIGGER counts_fold AFTER UPDATE OF status, deleted_at, workspace_id ON documents_document FOR EACH STATEMENT EXECUTE FUNCTION documents_counts_fold();
CREATE TRIGGER counts_removed AFTER DELETE ON documents_document REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION documents_counts_added_removed();
CREATE TRIGGER counts_truncated AFTER TRUNCATE ON documents_document FOR EACH STATEMENT EXECUTE FUNCTION documents_counts_truncated();
CREATE TRIGGER events_added AFTER INSERT ON documents_document REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION events_added();
CREATE TRIGGER events_changed AFTER UPDATE ON documents_document FOR EACH ROW WHEN (((((old.status)::text IS DISTINCT FROM (new.status)::text) OR ((old.deleted_at IS NULL) IS DISTINCT FROM (new.deleted_at IS NULL))) OR (old.workspace_id IS DISTINCT FROM new.workspace_id))) EXECUTE FUNCTION events_changed();
CREATE TRIGGER events_removed AFTER DELETE ON documents_document FOR EACH ROW WHEN ((old.deleted_at IS NULL)) EXECUTE FUNCTION events_changed();
CREATE TRIGGER webhooks_add_deliveries AFTER INSERT ON events_event FOR EACH ROW EXECUTE FUNCTION webhooks_add_deliveries();
ALTER TABLE apikeys_apikey
 ADD CONSTRAINT apikeys_apikey_created_by_id_b3c3f2e2_fk_auth_user_id FOREIGN KEY (created_by_id) REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE apikeys_apikey
 ADD CONSTRAINT apikeys_apikey_revoked_by_id_dd9fb04c_fk_auth_user_id FOREIGN KEY (revoked_by_id) REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE apikeys_apikey
 ADD CONSTRAINT apikeys_apikey_workspace_id_0236ef0d_fk_workspaces_workspace_id FOREIGN KEY (workspace_id) REFERENCES workspaces_workspace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE auth_group_permissions
 ADD CONSTRAINT auth_group_permissio_permission_id_84c5c92e_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE auth_group_permissions
 ADD CONSTRAINT auth_group_permissions_group_id_b120cbf9_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE auth_permission
 ADD CONSTRAINT auth_permission_content_type_id_2f476e4b_fk_django_co FOREIGN KEY (content_type_id) REFERENCES django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE auth_user_groups
 ADD CONSTRAINT auth_user_groups_group_id_97559544_fk_auth_group_id FOREIGN KEY (group_id) REFERENCES auth_group(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE auth_user_groups
 ADD CONSTRAINT auth_user_groups_user_id_6a12ed8b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE auth_user_user_permissions
 ADD CONSTRAINT auth_user_user_permi_permission_id_1fbb5f2c_fk_auth_perm FOREIGN KEY (permission_id) REFERENCES auth_permission(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE auth_user_user_permissions
 ADD CONSTRAINT auth_user_user_permissions_user_id_a95ead1b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE django_admin_log
 ADD CONSTRAINT django_admin_log_content_type_id_c4bce8eb_fk_django_co FOREIGN KEY (content_type_id) REFERENCES django_content_type(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE django_admin_log
 ADD CONSTRAINT django_admin_log_user_id_c564eba6_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE documents_document
 ADD CONSTRAINT documents_document_certificate_id_6d41f862_fk_documents FOREIGN KEY (certificate_id) REFERENCES documents_storedfile(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE documents_document
 ADD CONSTRAINT documents_document_original_id_8c41bc88_fk_documents FOREIGN KEY (original_id) REFERENCES documents_storedfile(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE documents_document
 ADD CONSTRAINT documents_document_signed_id_900bfb28_fk_documents FOREIGN KEY (signed_id) REFERENCES documents_storedfile(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE documents_document
 ADD CONSTRAINT documents_document_workspace_id_75c69096_fk_workspace FOREIGN KEY (workspace_id) REFERENCES workspaces_workspace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE documents_recipient
 ADD CONSTRAINT documents_recipient_document_id_4caeb754_fk_documents FOREIGN KEY (document_id) REFERENCES documents_document(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE otp_static_staticdevice
 ADD CONSTRAINT otp_static_staticdevice_user_id_7f9cff2b_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE otp_static_statictoken
 ADD CONSTRAINT otp_static_statictok_device_id_74b7c7d1_fk_otp_stati FOREIGN KEY (device_id) REFERENCES otp_static_staticdevice(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE otp_totp_totpdevice
 ADD CONSTRAINT otp_totp_totpdevice_user_id_0fb18292_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE webhooks_attempt
 ADD CONSTRAINT webhooks_attempt_delivery_id_bb1708b1_fk_webhooks_delivery_id FOREIGN KEY (delivery_id) REFERENCES webhooks_delivery(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE webhooks_delivery
 ADD CONSTRAINT webhooks_delivery_endpoint_id_6cbee67d_fk_webhooks_endpoint_id FOREIGN KEY (endpoint_id) REFERENCES webhooks_endpoint(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE webhooks_endpoint
 ADD CONSTRAINT webhooks_endpoint_created_by_id_f1288ec5_fk_auth_user_id FOREIGN KEY (created_by_id) REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE webhooks_endpoint
 ADD CONSTRAINT webhooks_endpoint_workspace_id_7f5fbe8f_fk_workspace FOREIGN KEY (workspace_id) REFERENCES workspaces_workspace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE workspaces_confirmedaddress
 ADD CONSTRAINT workspaces_confirmedaddress_user_id_5fb073ad_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE workspaces_invitation
 ADD CONSTRAINT workspaces_invitatio_workspace_id_5f5d7eee_fk_workspace FOREIGN KEY (workspace_id) REFERENCES workspaces_workspace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE workspaces_invitation
 ADD CONSTRAINT workspaces_invitation_created_by_id_fc61ac60_fk_auth_user_id FOREIGN KEY (created_by_id) REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE workspaces_membership
 ADD CONSTRAINT workspaces_membershi_workspace_id_03c7ef39_fk_workspace FOREIGN KEY (workspace_id) REFERENCES workspaces_workspace(id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE workspaces_membership
 ADD CONSTRAINT workspaces_membership_user_id_96a9ee37_fk_auth_user_id FOREIGN KEY (user_id) REFERENCES auth_user(id) DEFERRABLE INITIALLY DEFERRED;
