-- A title with its case folded and without accents, with a space before each word. What a letter is
-- must not depend on the locale of the database, so its collation is one for all of Unicode; which one
-- the server has depends on its version and how it was built.
--
-- SPACELESS are the scripts that write no spaces: Thai and Lao, Myanmar, Khmer, kana and Han. What
-- stands together in one of them is a word that begins with MARK, a character for private use.
DO $do$
DECLARE
    unicode text := coalesce((
        SELECT format('COLLATE %I', collname) FROM pg_collation
        WHERE collname IN ('pg_c_utf8', 'C.utf8', 'C.UTF-8', 'und-x-icu')
            AND collencoding IN (-1, pg_char_to_encoding('UTF8'))
        ORDER BY array_position(ARRAY['pg_c_utf8', 'C.utf8', 'C.UTF-8', 'und-x-icu'], collname::text)
        LIMIT 1
    ), '');
    spaceless text := '\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff'
        || '\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff';
    -- What is often left out: accents and other marks of Latin, Greek, Cyrillic, Hebrew, Arabic, the dot
    -- below letters of India; Arabic's stretching, the dot between katakana, and what cannot be seen
    -- (soft hyphens, joiners, fillers, spaces without width, directions, variants).
    ignored text := '\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a'
        || '\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u1ab0-\u1aff\u1dc0-\u1dff'
        || '\u20d0-\u20ff\ufe20-\ufe2f\u093c\u09bc\u0a3c\u0abc\u0b3c\u0cbc\u0640\u30fb\u00ad\u061c\u115f\u1160'
        || '\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef';
    -- Signs within a word: of Hebrew abbreviations, the Ukrainian apostrophe, and the mark of a long vowel at
    -- a word's end, which is optional.
    within text := '([\u05d0-\u05ea])["\u05f4\u201c-\u201f](?=[\u05d0-\u05ea])'
        || '|([\u0400-\u04ff\u05d0-\u05ea])[\u0027\u0060\u05f3\u2018\u2019](?=[\u0400-\u04ff\u05d0-\u05ea])'
        || '|([\u30a1-\u30fa][\u30a1-\u30fc][\u30a1-\u30fa])\u30fc(?![\u30a1-\u30fc])';
    -- Letters of Latin, Greek and Cyrillic that others write as another one, or only at a word's end, and
    -- apostrophes that are letters for Unicode.
    letters text := 'łøđðħıςŋŧґəɓɗƙʼʻʾʿ';
    plain text := 'loddhiσntгebdk''''''''';
    -- From Arabic to Khmer: yeh, kaf, heh, alef and noon as keyboards from Morocco to India have them, Hindi's
    -- two nasals, digits, and punctuation.
    southern text := '\u0600-\u17ff\ufb50-\ufefc';
    letters_there text := U&'\0649\06cc\06a9\06aa\0629\06c1\06be\06d5\06c3\0671\06ba\0901';
    plain_there text := U&'\064a\064a\0643\0643\0647\0647\0647\0647\0647\0627\0646\0902';
    zeros int[] := ARRAY[1632, 1776, 2406, 2534, 2662, 2790, 2918, 3046, 3174, 3302, 3430, 3664, 3792, 3872,
        4160, 6112];
    stops text := '।॥॰෴๏๚๛་༌།༎༏༐༑༔၊။၌၍၎၏។៕៖៘៙៚';
    -- NFKD separates a letter from its accents; what is left, NFC joins again.
    joined text;
BEGIN
    letters_there := letters_there || (
        SELECT string_agg(chr(zero + digit), '' ORDER BY zero, digit)
        FROM unnest(zeros) AS zero, generate_series(0, 9) AS digit
    ) || stops;
    plain_there := plain_there || repeat('0123456789', array_length(zeros, 1)) || repeat(' ', length(stops));
    joined := format($expression$
        regexp_replace(translate(
            replace(replace(replace(replace(lower(normalize(
                regexp_replace(normalize(title, NFKD), %L, '', 'g'), NFC
            ) UNICODE), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), %L, %L
        ), %L, '\1\2\3', 'g')
    $expression$, '[' || ignored || ']', letters, plain, within);
    -- ASCII has none of these, and to look for all of them takes long. The scripts from Devanagari to Myanmar,
    -- and Khmer, have signs that are a part of a word.
    EXECUTE replace(replace(replace(format($function$
        CREATE OR REPLACE FUNCTION documents_folded(title text) RETURNS text
            LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN
            ' ' || regexp_replace((
                CASE WHEN octet_length(title) = length(title) THEN lower(title)
                ELSE regexp_replace(
                    CASE WHEN title ~ %L THEN translate(%s, %L, %L) ELSE %2$s END,
                    '[SPACELESS]+', ' MARK\& ', 'g'
                ) END
            ) UNICODE, '[^[:alnum:]MARK\u0900-\u109fSPACELESS]+', ' ', 'g')
    $function$, '[' || southern || ']', joined, letters_there, plain_there),
        'SPACELESS', spaceless), 'MARK', U&'\E000'), 'UNICODE', unicode);
END
$do$;

GRANT EXECUTE ON FUNCTION documents_folded(text) TO PUBLIC;
