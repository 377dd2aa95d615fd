-- What the search needs beside the documents: one row for each in documents_searchable, with its times and
-- its tokens. A token is the hash of something that can be asked for.

-- The words of a folded title. Where no spaces are written, each sign is a word, with the one that follows.
CREATE OR REPLACE FUNCTION documents_words(folded text) RETURNS SETOF text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN first = 0 THEN word ELSE substr(word, first + 1, 2) END
    FROM unnest(string_to_array(btrim(folded), ' ')) AS word,
        generate_series((word ^@ U&'\E000')::int, (word ^@ U&'\E000')::int * (length(word) - 1)) AS first
$$;

-- The beginnings of a word that are tokens: one token for each length would be twice as many.
CREATE OR REPLACE FUNCTION documents_beginnings(word text) RETURNS SETOF text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT left(word, length) FROM unnest('{1, 2, 4, 6, 8, 12, 16}'::int[]) AS length WHERE length <= length(word)
$$;

-- The words of a title that is searched for: a part of each folded title that has the word, and the longest
-- beginnings that are its tokens.
CREATE OR REPLACE FUNCTION documents_asked_words(title text, OUT part text, OUT beginnings text[]) RETURNS SETOF record
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN asked ^@ U&'\E000' THEN substr(asked, 2) ELSE ' ' || asked END, ARRAY(
        SELECT (array_agg(beginning ORDER BY length(beginning) DESC))[1]
        FROM public.documents_words(asked) AS word, public.documents_beginnings(word) AS beginning GROUP BY word
    )
    FROM (SELECT DISTINCT left(unnest(string_to_array(btrim(public.documents_folded(title)), ' ')), 60)) AS words (asked)
$$;

-- The same text is another token in another workspace: one that is large never slows down the others.
CREATE OR REPLACE FUNCTION documents_token(workspace uuid, token text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN hashtextextended(lower(token), uuid_hash_extended(workspace, 0));

-- The rows of documents_searchable as they should be: none for a deleted document. PL/pgSQL keeps the plan; to
-- plan it for each statement would take ten times as long as to run it. ROWS 1: what is joined has an index. OFFSET 0:
-- without statistics PostgreSQL would read a whole index of the documents that are not deleted.
CREATE OR REPLACE FUNCTION documents_made_searchable(ids uuid[]) RETURNS SETOF documents_searchable
    LANGUAGE plpgsql STABLE ROWS 1 SET plan_cache_mode = force_generic_plan SET jit = off AS $$
BEGIN
    RETURN QUERY SELECT id, created_at, sent_at, completed_at, expires_at, folded_title,
        ARRAY(SELECT DISTINCT public.documents_token(workspace_id, text) FROM (
            SELECT 'title ' || beginning
            FROM public.documents_words(folded_title) AS word, public.documents_beginnings(word) AS beginning
            UNION ALL SELECT 'status ' || status
            -- The day and the month of each time; without a unit, that there is such a time.
            UNION ALL SELECT concat_ws(' ', name, unit, extract(epoch FROM date_trunc(unit, time, 'UTC')))
            FROM (VALUES
                ('created', created_at), ('sent', sent_at), ('completed', completed_at), ('expires', expires_at)
            ) AS times (name, time), unnest('{NULL, day, month}'::text[]) AS unit WHERE time IS NOT NULL
            UNION ALL SELECT 'recipient ' || recipient.status || ' ' || address
            FROM public.documents_recipient AS recipient, unnest(ARRAY['', email]) AS address
            WHERE document_id = document.id
        ) AS found (text) ORDER BY 1)
    FROM (SELECT * FROM public.documents_document WHERE id = ANY (ids) OFFSET 0) AS document
    WHERE deleted_at IS NULL;
END
$$;

-- All that can be found now by a workspace's tokens. PostgreSQL makes it a part of the statement that calls it. An
-- outdated document without a workspace is of any.
CREATE OR REPLACE FUNCTION documents_findable(workspace uuid) RETURNS SETOF documents_searchable
    LANGUAGE sql STABLE AS $$
    SELECT * FROM public.documents_searchable
    WHERE id NOT IN (
        SELECT document_id FROM public.documents_outdated WHERE workspace_id = workspace OR workspace_id IS NULL
    )
    UNION ALL
    SELECT * FROM public.documents_made_searchable(ARRAY(
        SELECT DISTINCT document_id FROM public.documents_outdated
        WHERE workspace_id = workspace OR workspace_id IS NULL
    ))
$$;

-- Writes the rows of documents that have changed, or whose recipients have. It never waits, so that writers
-- who change recipients of the same documents in different orders neither wait for each other nor deadlock:
-- where another transaction has locked a row, the document becomes outdated, and searches look at the document
-- itself until housekeeping has written the row. has_documents: whether rows may be added and deleted. Who calls it
-- so has locked the documents, or has emptied a table. enable_seqscan: a session keeps its plans, also those that it
-- made while the tables were empty.
CREATE OR REPLACE FUNCTION documents_write_searchable(ids uuid[], has_documents boolean) RETURNS void
    LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    present uuid[];
    locked uuid[];
BEGIN
    IF has_documents THEN
        -- Recipients may have been added before their document, or have changed while its row was locked.
        DELETE FROM public.documents_outdated WHERE id IN (
            SELECT id FROM public.documents_outdated WHERE document_id = ANY (ids) FOR UPDATE SKIP LOCKED
        );
        present := ARRAY(SELECT id FROM public.documents_searchable WHERE id = ANY (ids));
        -- In this order, since those that are found together are then on few pages of the table.
        INSERT INTO public.documents_searchable SELECT * FROM public.documents_made_searchable(
            ARRAY(SELECT unnest(ids) EXCEPT SELECT unnest(present))
        ) ORDER BY created_at;
        ids := present;
    END IF;
    locked := ARRAY(
        SELECT id FROM public.documents_searchable WHERE id = ANY (ids) FOR UPDATE SKIP LOCKED
    );
    IF cardinality(locked) < cardinality(ids) THEN
        -- A deleted document has no row. Who restores it waits for this lock, and then sees the change.
        INSERT INTO public.documents_outdated (document_id, workspace_id)
        SELECT changed, workspace_id
        FROM (SELECT unnest(ids) EXCEPT SELECT unnest(locked)) AS unwritten (changed)
        LEFT JOIN public.documents_document ON id = changed
        WHERE has_documents OR changed NOT IN (
            SELECT id FROM public.documents_document WHERE id = ANY (ids) AND deleted_at IS NOT NULL
            FOR NO KEY UPDATE SKIP LOCKED
        );
    END IF;
    -- The next statements see what was committed before the rows were locked.
    IF has_documents THEN
        DELETE FROM public.documents_searchable
        WHERE id = ANY (locked) AND id NOT IN (
            SELECT id FROM (SELECT * FROM public.documents_document WHERE id = ANY (locked) OFFSET 0) AS document
            WHERE deleted_at IS NULL
        );
    END IF;
    -- All of them exist. An UPDATE would join both tables, and could read the whole one, or compare each row with all.
    INSERT INTO public.documents_searchable AS written SELECT * FROM public.documents_made_searchable(locked)
    ON CONFLICT (id) DO UPDATE
    SET created_at = EXCLUDED.created_at, folded_title = EXCLUDED.folded_title, sent_at = EXCLUDED.sent_at,
        completed_at = EXCLUDED.completed_at, expires_at = EXCLUDED.expires_at, tokens = EXCLUDED.tokens
    WHERE written IS DISTINCT FROM EXCLUDED;
END
$$;

CREATE OR REPLACE FUNCTION documents_searchable_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    ids uuid[];
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        PERFORM public.documents_write_searchable(ARRAY(SELECT id FROM public.documents_searchable), true);
        RETURN NULL;
    ELSIF TG_TABLE_NAME = 'documents_document' THEN
        ids := ARRAY(SELECT id FROM changed);
    ELSIF TG_OP = 'UPDATE' THEN
        ids := ARRAY(SELECT document_id FROM changed UNION SELECT document_id FROM before);
    ELSE
        ids := ARRAY(SELECT DISTINCT document_id FROM changed);
    END IF;
    PERFORM public.documents_write_searchable(ids, TG_TABLE_NAME = 'documents_document');
    RETURN NULL;
END
$$;
DO $do$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['documents_document', 'documents_recipient'] LOOP
        EXECUTE replace($triggers$
            CREATE OR REPLACE TRIGGER searchable_added AFTER INSERT ON NAME REFERENCING NEW TABLE AS changed
                FOR EACH STATEMENT EXECUTE FUNCTION documents_searchable_changed();
            CREATE OR REPLACE TRIGGER searchable_changed AFTER UPDATE ON NAME
                REFERENCING NEW TABLE AS changed OLD TABLE AS before
                FOR EACH STATEMENT EXECUTE FUNCTION documents_searchable_changed();
            CREATE OR REPLACE TRIGGER searchable_removed AFTER DELETE ON NAME REFERENCING OLD TABLE AS changed
                FOR EACH STATEMENT EXECUTE FUNCTION documents_searchable_changed();
            CREATE OR REPLACE TRIGGER searchable_truncated AFTER TRUNCATE ON NAME
                FOR EACH STATEMENT EXECUTE FUNCTION documents_searchable_changed();
        $triggers$, 'NAME', name);
    END LOOP;
END
$do$;

GRANT EXECUTE ON FUNCTION documents_words(text), documents_beginnings(text), documents_asked_words(text),
    documents_token(uuid, text), documents_made_searchable(uuid[]), documents_findable(uuid),
    documents_write_searchable(uuid[], boolean) TO PUBLIC;
