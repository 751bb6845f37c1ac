"""One knowledge for all tests of this folder, and a short way from a text to facts."""

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import CONTENT, Knowledge, read_content


@pytest.fixture(scope="session")
def knowledge():
    return Knowledge(**read_content(CONTENT)[0])


@pytest.fixture
def facts(knowledge):
    return lambda text, **answers: read_facts(read(text), answers, knowledge)


@pytest.fixture
def values(facts):
    return lambda text, **answers: facts(text, **answers).values
