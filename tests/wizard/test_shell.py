"""``curl --data-binary @train.log``."""

from __future__ import annotations

import io
import pickle

import pytest
from django.test import Client

from wizard import limits

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]
RAY = (
    "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n"
    "Memory on the node (IP: 10.9.8.7, ID: f00) where the task (name=main, pid=7, memory used=0.50GB) was running was "
    "96.00GB / 100.00GB (0.96), which exceeds the memory usage threshold of 0.95.\n"
)


def send(body: str | bytes, path: str = "/diagnose", **headers: str):
    client = Client(enforce_csrf_checks=True)
    return client.post(path, body, content_type="application/x-www-form-urlencoded", headers=headers)


def test_it_refuses_what_is_above_its_limit_in_words_for_a_terminal():
    response = Client().generic("POST", "/diagnose", b"x", CONTENT_LENGTH=str(limits.SHELL + 1))
    assert response.status_code == 413
    assert response.headers["Content-Type"].startswith("text/plain")


def test_it_refuses_what_turns_out_to_be_above_its_limit_without_saying_so_first():
    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return (b"x" * 4999 + b"\n") * (size // 5000)

    response = Client().generic("POST", "/diagnose", b"", **{"wsgi.input": Endless(), "wsgi.input_terminated": True})
    assert response.status_code == 413


def test_it_refuses_a_get():
    assert Client().get("/diagnose").status_code == 405


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "page"),
    [("/diagnose", "/"), ("/cases/first/files/", "/cases/first/"), ("/saved/", "/"), ("/cases/preview/", "/cases/")],
)
def test_a_browser_that_opens_an_address_of_a_form_comes_to_its_page(address, page):
    answer = Client().get(address, headers={"Accept": "text/html,*/*"})
    assert (answer.status_code, answer.headers["Location"]) == (302, page)


def test_it_answers_in_plain_text_without_any_cookie_or_token():
    response = send(RAY)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode().startswith("Host RAM")
    assert not response.cookies


@pytest.mark.parametrize(
    ("path", "headers"), [("/diagnose?format=json", {}), ("/diagnose", {"Accept": "application/json"})]
)
def test_it_answers_in_json_when_asked(path, headers):
    answer = send(RAY, path, **headers).json()
    assert answer["oom_kind"] == "host_ram"
    assert answer["facts"]["numbers"]["node_used_gb"] == 96.0


def test_a_body_in_chunks_is_read_although_it_announces_no_length():
    chunked = {"wsgi.input": io.BytesIO(RAY.encode()), "wsgi.input_terminated": True}
    response = Client().generic("POST", "/diagnose", b"", **chunked)
    assert response.content.decode().startswith("Host RAM")


def test_it_gives_no_address_of_the_log_back():
    assert b"10.9.8.7" not in send(RAY).content


def test_a_binary_body_is_said_to_be_one(client):
    answer = client.post(
        "/diagnose", b"\x00\x01trl 9b\x02\n" * 50, content_type="application/octet-stream"
    ).content.decode()
    assert "This looks like a binary file" in answer
    assert "TRL" not in answer


def test_an_empty_body_is_an_answer_too():
    assert send(b"").status_code == 200


def test_bytes_that_are_no_text_are_an_answer_too():
    assert send(bytes(range(256)) * 50).status_code == 200


def test_a_memory_snapshot_is_not_opened_and_the_answer_says_how_to_print_it():
    snapshot = pickle.dumps({"segments": [], "device_traces": [[{"action": "oom"}]]})
    answer = send(snapshot).content.decode()
    assert "torch.cuda._memory_viz stats" in answer
    assert "segments" not in answer.split("memory snapshot")[0]


def test_a_log_that_repeats_itself_for_megabytes_is_read_to_its_end():
    filler = "".join(f"progress {n} of many, all is well\n" for n in range(50_000))
    answer = send(filler + RAY + filler, "/diagnose?format=json").json()
    assert answer["facts"]["numbers"]["node_used_gb"] == 96.0
