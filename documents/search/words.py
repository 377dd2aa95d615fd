"""The words of a title that is searched for, and those in the index of titles' words."""

from typing import NamedTuple
from uuid import UUID

from config.api.errors import InvalidParameter
from config.connections import fetch
from documents.search.parameters import WORDS_EXPECTED, WORDS_MAX

SPELLINGS = 8  # words with one beginning that are read in turn
# Spellings, each from the one before, of the three longest words: of others hardly one is rare.
_WORDS = r"""
    SELECT part, first, CASE WHEN place <= 3 THEN ARRAY(
        WITH RECURSIVE spelling (word) AS (
            SELECT min(word) FROM "documents_titleword"
            WHERE workspace_id = %(workspace)s AND word >= first
            UNION ALL
            SELECT (SELECT min(word) FROM "documents_titleword"
                WHERE workspace_id = %(workspace)s AND word > spelling.word)
            FROM spelling WHERE spelling.word ^@ first
        ) SELECT word FROM spelling WHERE word ^@ first LIMIT %(most)s
    ) END
    FROM (
        SELECT row_number() OVER (ORDER BY length(text) DESC) AS place,
            CASE WHEN text ^@ U&'\E000' THEN substr(text, 2) ELSE ' ' || text END AS part,
            CASE WHEN text ^@ U&'\E000' THEN substr(text, 2, 2) ELSE text END COLLATE "C" AS first
        FROM (SELECT DISTINCT
            left(unnest(string_to_array(btrim(documents_folded(%(title)s)), ' ')), 60)
        ) AS asked (text)
    ) AS placed ORDER BY place DESC
"""


class Word(NamedTuple):
    """A word that is searched for: the beginning of one of the title's.

    Attributes:
        part: of a folded title that has the word.
        first: how its words in the index begin: two signs of a script that writes no spaces.
        spellings: the first few of those; None if the word is not one of the longest.
    """

    part: str
    first: str
    spellings: list[str] | None

    @property
    def has_many(self) -> bool:
        """Whether there may be more spellings."""
        return len(self.spellings or ()) > SPELLINGS


def words_of(title: str, workspace_id: UUID) -> list[Word]:
    """The words of a title, folded as those of titles are, the longest last.

    Raises InvalidParameter if it has none, or too many.
    """
    given = {"title": title, "workspace": workspace_id, "most": SPELLINGS + 1}
    found = fetch(_WORDS, given, Word)
    if not 1 <= len(found) <= WORDS_MAX:
        raise InvalidParameter("title", WORDS_EXPECTED)
    return found
