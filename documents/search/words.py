"""The words of a title that is searched for, folded as those of titles are."""

from typing import NamedTuple

from config.api.errors import InvalidParameter
from config.connections import fetch
from documents.search.parameters import WORDS_EXPECTED, WORDS_MAX

_WORDS = r"""
    SELECT CASE WHEN text ^@ U&'\E000' THEN substr(text, 2) ELSE ' ' || text END, ARRAY(
        SELECT (array_agg(each ORDER BY length(each) DESC))[1]
        FROM documents_words(text) AS word, documents_beginnings(word) AS each GROUP BY word
    )
    FROM (SELECT DISTINCT
        left(unnest(string_to_array(btrim(documents_folded(%(title)s)), ' ')), 60)
    ) AS asked (text)
"""


class Word(NamedTuple):
    """A word that is searched for: the beginning of one of the title's.

    Attributes:
        part: of a folded title that has the word.
        beginnings: the longest that are tokens. Such a title has all of them.
    """

    part: str
    beginnings: list[str]


def words_of(title: str) -> list[Word]:
    """The words of a title. Raises InvalidParameter if it has none, or too many."""
    found = fetch(_WORDS, {"title": title}, Word)
    if not 1 <= len(found) <= WORDS_MAX:
        raise InvalidParameter("title", WORDS_EXPECTED)
    return found
