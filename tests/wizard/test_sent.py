"""What is sent to the box: its size, files, tokens, wrong values, hostile text; nothing of it is kept."""

from __future__ import annotations

import html
import pickle

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.wizard.conftest import TORCH, Form, post
from wizard import limits

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


HOSTILE = '<img src=x onerror="alert(1)">'


def test_the_box_says_how_much_is_taken_before_anything_is_sent(client):
    page = client.get("/").content.decode()
    for most in (limits.PASTE, limits.FILES):
        assert f'data-most="{most}"' in page


def test_an_empty_paste_is_refused_at_the_field(client):
    response = client.post("/result/", {"paste": "  \n"})
    assert response.status_code == 200
    assert 'aria-invalid="true"' in response.content.decode()


def test_files_that_are_empty_are_named(client):
    files = [SimpleUploadedFile("a.log", b""), SimpleUploadedFile("b.log", b"")]
    assert "a.log and b.log are empty." in client.post("/result/", {"paste": "", "files": files}).content.decode()


def test_a_paste_that_is_too_long_is_refused_at_the_field(client):
    response = client.post("/result/", {"paste": "x" * limits.PASTE + "\nthe last line"})
    assert response.status_code == 200
    assert 'aria-describedby="paste-error"' in response.content.decode()
    assert "the last line</textarea>" in response.content.decode()


def test_a_body_that_is_too_large_gets_a_page_before_it_is_read(client):
    response = client.generic("POST", "/result/", b"x", CONTENT_LENGTH=str(limits.FILES * 2))
    assert response.status_code == 413
    assert 'id="main"' in response.content.decode()


def test_text_that_is_too_large_for_a_field_gets_the_same_page(client, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    response = client.post("/result/", {"paste": "x" * 2000})
    assert response.status_code == 413
    assert "16 MB is the limit here" in response.content.decode()


def test_a_form_without_files_may_not_be_as_large_as_one_with_them(client):
    kind = "application/x-www-form-urlencoded"
    response = client.post("/result/", "paste=" + "x" * limits.FIELDS, content_type=kind)
    assert response.status_code == 413


def test_a_form_without_a_token_is_refused():
    assert Client(enforce_csrf_checks=True).post("/result/", {"paste": TORCH}).status_code == 403


def test_an_answer_that_does_not_fit_gets_its_cure_at_the_field(client):
    page = post(client, reduced=TORCH, host_ram_gb="760 cores")
    assert 'id="err-host_ram_gb"' in page
    assert 'value="760 cores"' in page


def test_a_wrong_value_for_a_default_shows_at_its_own_row(client, answer):
    carried = dict(Form(answer).hidden)["reduced"]
    page = post(client, reduced=carried, other="swap_space_gib", other_value="plenty")
    assert 'id="err-swap_space_gib"' in page


def test_hostile_text_is_only_ever_shown_escaped(client):
    page = post(client, paste=f"{TORCH}\nmodel_path={HOSTILE}\n--output_dir '{HOSTILE}'\n{HOSTILE}")
    assert HOSTILE not in page
    assert html.escape(HOSTILE) in page


def test_hostile_words_in_an_address_are_escaped(client):
    page = client.get("/result/", {"model": HOSTILE, "n_gpus": HOSTILE}).content.decode()
    assert HOSTILE not in page


def test_the_answer_is_kept_by_nobody_but_the_browser_that_pasted(client):
    response = client.post("/result/", {"paste": TORCH})
    assert response.headers["Cache-Control"] == "private, no-cache"
    assert "Vary" not in response.headers
    assert response.headers["X-Robots-Tag"] == "noindex"
    assert 'hx-history="false"' in response.content.decode()


def test_what_was_taken_out_is_in_no_part_of_the_answer(client):
    page = post(client, paste=f"{TORCH}\nHF_TOKEN=hf_{'a1B2' * 9}\n")
    assert "hf_a1B2" not in page


def test_nothing_of_a_paste_is_logged(client, caplog):
    caplog.set_level("DEBUG")
    post(client, paste=f"{TORCH}\n--output_dir /runs/codename-heron\n", model="codename-heron", n_gpus="heron")
    assert "heron" not in caplog.text


def test_files_are_read_beside_the_paste(client):
    run = SimpleUploadedFile("run.sh", b"swift rlhf --rlhf_type grpo --num_generations 8\n")
    log = SimpleUploadedFile("train.log", TORCH.encode())
    page = client.post("/result/", {"paste": "two files", "files": [run, log]}).content.decode()
    assert "GPU memory" in page
    assert "<h1>" in page


def test_a_binary_file_is_named_as_one(client):
    core = SimpleUploadedFile("core.1", bytes(range(256)) * 400)
    assert "looks like a binary file" in client.post("/result/", {"files": [core]}).content.decode()


def test_a_memory_snapshot_is_refused_with_its_cure_and_the_paste_beside_it_is_read(client):
    snapshot = SimpleUploadedFile("snapshot.pickle", pickle.dumps({"segments": [], "device_traces": []}))
    page = client.post("/result/", {"paste": TORCH, "files": [snapshot]}).content.decode()
    assert "This is a memory snapshot of torch" in page
    assert "torch.cuda._memory_viz stats" in page
    assert "GPU memory" in page
