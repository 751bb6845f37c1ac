"""One knowledge for all tests of this folder, and a short way from a text to facts."""

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis


@pytest.fixture(scope="session")
def knowledge():
    return current()


@pytest.fixture
def facts(knowledge):
    return lambda text, **answers: read_facts(read(text), answers, knowledge)


@pytest.fixture
def values(facts):
    return lambda text, **answers: facts(text, **answers).values


OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB. GPU 0 has a total capacity of 79.15 GiB.\n"
)


def told(text: str) -> Diagnosis:
    """The whole answer to a paste by what ships."""
    return diagnose(text, {}, current(), ())


def levers(found: Diagnosis) -> dict[str, tuple[tuple[str, str], ...]]:
    return {
        given.lever.slug: tuple((change.key, change.after) for change in given.changes) for given in found.prescriptions
    }
