-- A workspace with its keys.
INSERT INTO workspaces_workspace (id, name, plan, suspended, created_at)
VALUES (%(id)s, %(name)s, 'BUSINESS', false, now());
INSERT INTO apikeys_apikey (id, workspace_id, name, prefix, digest, created_at)
SELECT key_id::uuid, %(id)s, key_name, prefix, digest, now() FROM unnest(
    %(key_ids)s::text[], %(key_names)s::text[], %(prefixes)s::text[], %(digests)s::text[]
) AS key (key_id, key_name, prefix, digest);

-- Its documents with their recipients and files, newest documents first; `n`
-- counts them, and `age` those that are newer and not deleted. Every 50th was created at the same
-- instant as the one before. A tenth as many are deleted; they have all that others have. Only the
-- large workspace has CANCELLED documents close together, half of those in a fiftieth of it, and what
-- `bench/searches.toml` looks for: `alpha` and `beta` are frequent in titles, and hardly ever together.
WITH words (kinds, parties, given, family, fresh, old) AS (
    SELECT ARRAY['Lease', 'Non-disclosure agreement', 'Offer', 'Statement of work',
            'Data processing'],
        ARRAY['Müller & Söhne', 'Acme', 'O''Brien “Partners”', 'Ünlü İnşaat', 'Northwind'],
        ARRAY['Ada', 'Björn', 'Chloé', 'Dmitri', 'Ewa', 'Fatma', 'George', 'Hồng'],
        ARRAY['Andersson', 'Brontë', 'Çelik', 'Dubois', 'Eriksen', 'Fischer', 'García'],
        -- The newest twentieth of a workspace's documents is still in progress …
        array_fill('DRAFT'::text, ARRAY[4]) || array_fill('SENT'::text, ARRAY[6])
            || array_fill('VIEWED'::text, ARRAY[3])
            || array_fill('PARTIALLY_SIGNED'::text, ARRAY[2])
            || array_fill('COMPLETED'::text, ARRAY[5]),
        -- … and most of the others are complete.
        array_fill('DRAFT'::text, ARRAY[5]) || array_fill('SENT'::text, ARRAY[3])
            || array_fill('VIEWED'::text, ARRAY[2]) || ARRAY['PARTIALLY_SIGNED']
            || array_fill('COMPLETED'::text, ARRAY[79]) || array_fill('EXPIRED'::text, ARRAY[10])
), numbered AS (
    SELECT n, %(first)s + n AS number, n >= %(documents)s AS deleted,
        hashint8extended(%(first)s + n, 0) & 9223372036854775807 AS random,
        CASE WHEN n >= %(documents)s THEN (n - %(documents)s) * 10
            WHEN n %% 50 = 1 THEN n - 1 ELSE n END AS age
    FROM generate_series(0::bigint, %(documents)s + %(deleted)s - 1) n
), marked AS (
    SELECT *, random >> 40 AS chance, age * 10 / %(documents)s AS tenth,
        n %% greatest(%(documents)s / 31, 1) = 5 AS in_31,
        n %% greatest(%(documents)s / 41, 1) = 7 AS in_41
    FROM numbered
), made AS (
    SELECT number, random, deleted, created_at, created_at + interval '7 minutes' AS sent_at,
        CASE
            WHEN %(number)s = 0 AND n %% %(gap)s = %(gap)s / 2 THEN 'DECLINED'
            WHEN %(number)s = 0 AND age * 100 / %(documents)s IN (45, 46) AND random & 1 = 1
                THEN 'CANCELLED'
            WHEN NOT %(number)s = 0 AND random %% 50 = 0
                THEN CASE random & 64 WHEN 0 THEN 'CANCELLED' ELSE 'DECLINED' END
            WHEN age < %(documents)s / 20 THEN fresh[random / 128 %% 20 + 1]
            ELSE old[random / 128 %% 100 + 1]
        END AS status,
        kinds[random %% 5 + 1] AS kind, parties[random / 8 %% 5 + 1] AS party,
        CASE %(number)s WHEN 0 THEN ARRAY[
            CASE WHEN in_31 OR chance %% 10 = 0 THEN 'alpha' END,
            CASE WHEN in_31 OR chance %% 10 = 1 THEN 'beta' END,
            CASE WHEN tenth = 9 THEN 'archive' END,
            CASE WHEN in_41 THEN 'zeppelin' END
        ] END AS more_words,
        CASE %(number)s WHEN 0 THEN ARRAY[
            CASE WHEN chance %% 10 IN (2, 3) THEN 'legal@example.com' END,
            CASE WHEN chance %% 5 = 4 AND tenth >= 8 THEN 'former@example.com' END,
            CASE WHEN n %% 200 = 9 THEN 'mid@example.com' END
        ] END AS emails,
        CASE number WHEN 0 THEN %(large_file)s ELSE %(small_file)s END AS size
    FROM marked, words, LATERAL (SELECT timestamptz '2026-06-01 08:59:59.999863Z'
        - interval '1095 days' / %(documents)s * age AS created_at) created
), files AS (
    INSERT INTO documents_storedfile (id, object_key, size, sha256, created_at)
    SELECT id, %(scale)s || '/' || id, size,
        encode(sha256(convert_to(rpad('file ' || id || ' ', size, '.'), 'UTF8')), 'hex'), created_at
    FROM made, LATERAL (SELECT number * 3 + which AS id FROM generate_series(
        1, CASE status WHEN 'COMPLETED' THEN 3 ELSE 1 END) which) file
), recipients AS (
    INSERT INTO documents_recipient (id, document_id, name, email, role, status, "order", sent_at,
        viewed_at, completed_at, declined_at, decline_reason)
    SELECT md5('recipient ' || number * 4 + place)::uuid, md5('document ' || number)::uuid,
        given[dice %% 8 + 1] || ' ' || family[dice / 8 %% 7 + 1],
        coalesce(emails[place], 'person' || dice %% 5000 || '@party' || dice %% 97 || '.example'),
        role, state, place,
        CASE WHEN state <> 'PENDING' THEN sent_at END,
        CASE WHEN state NOT IN ('PENDING', 'SENT') THEN sent_at + interval '1 hour' * place END,
        CASE WHEN state IN ('SIGNED', 'APPROVED')
            THEN sent_at + interval '1 day' * place + interval '1 second' * (dice & 255) END,
        CASE state WHEN 'DECLINED' THEN sent_at + interval '30 hours' END,
        CASE state WHEN 'DECLINED' THEN 'The price is not what we agreed on.' END
    FROM made, words, LATERAL (VALUES
        (1, 'SIGNER', CASE WHEN status = 'DRAFT' THEN 'PENDING'
            WHEN status IN ('COMPLETED', 'PARTIALLY_SIGNED') THEN 'SIGNED'
            WHEN status = 'DECLINED' THEN 'DECLINED'
            WHEN status IN ('VIEWED', 'EXPIRED') THEN 'VIEWED' ELSE 'SENT' END),
        (2, 'APPROVER', CASE status WHEN 'DRAFT' THEN 'PENDING' WHEN 'COMPLETED' THEN 'APPROVED'
            ELSE 'SENT' END),
        (3, 'CC', CASE status WHEN 'DRAFT' THEN 'PENDING' ELSE 'SENT' END)
    ) recipient (place, role, state), LATERAL (SELECT random >> place * 8 AS dice) shifted
)
INSERT INTO documents_document (id, workspace_id, title, status, file_name, page_count,
    file_size, signing_order, created_at, sent_at, completed_at, expires_at, deleted_at,
    original_id, signed_id, certificate_id)
SELECT md5('document ' || number)::uuid, %(id)s,
    array_to_string(ARRAY[kind, number || ',', party] || more_words, ' '), status,
    kind || '-' || number || '.pdf', 1, size,
    CASE random & 4 WHEN 0 THEN 'PARALLEL' ELSE 'SEQUENTIAL' END, created_at,
    CASE WHEN status <> 'DRAFT' THEN sent_at END,
    CASE status WHEN 'COMPLETED' THEN created_at + interval '2 days'
        + interval '1 microsecond' * (random & 1048575) END,
    CASE WHEN status <> 'DRAFT' THEN created_at + interval '30 days' END,
    CASE WHEN deleted THEN created_at END, number * 3 + 1,
    CASE status WHEN 'COMPLETED' THEN number * 3 + 2 END,
    CASE status WHEN 'COMPLETED' THEN number * 3 + 3 END
FROM made
