"""Frames of tracebacks, sorted by process, with remote calls between them."""

from __future__ import annotations

from diagnose.ingest import read

REMOTE = """Traceback (most recent call last):
  File "/home/al/app/pkg/main.py", line 99, in main
    ray.get(run.remote(config))
ray.exceptions.RayTaskError(OutOfMemoryError): ray::run() (pid=1, ip=10.0.0.2)
  File "/home/al/app/pkg/trainer.py", line 610, in fit
    out = self.group.generate(batch)
          ^^^^^^^^^^^^^^^^^^^^^^^^^^
ray.exceptions.RayTaskError(OutOfMemoryError): ray::WorkerDict.actor_generate() (pid=2, ip=10.0.0.2, repr=<x>)
  File "/home/al/app/pkg/worker.py", line 42, in generate
    output = f(n_n=3)
torch.OutOfMemoryError: CUDA out of memory.

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "C:\\\\app\\\\pkg\\\\end.py", line 7, in <module>
    stop()
"""


def test_it_reads_no_frame_from_a_table_of_processes_or_from_cpp() -> None:
    assert read("4187   11.8   ray::WorkerDict.generate\nframe #3: c10::Error::Error(std::string) + 0x57").frames == ()


def test_it_reads_frames_outermost_first_with_remote_calls_between() -> None:
    frames = [(frame.path, frame.function, frame.owner, frame.line, frame.source_line) for frame in read(REMOTE).frames]
    assert frames == [
        ("‹path›/app/pkg/main.py", "main", "", 2, 99),
        ("", "run", "", 4, 0),
        ("‹path›/app/pkg/trainer.py", "fit", "", 5, 610),
        ("", "actor_generate", "WorkerDict", 8, 0),
        ("‹path›/app/pkg/worker.py", "generate", "", 9, 42),
        ("C:/app/pkg/end.py", "<module>", "", 16, 7),
    ]


def test_it_counts_tracebacks() -> None:
    assert [frame.traceback for frame in read(REMOTE).frames] == [0, 0, 0, 0, 0, 1]


def test_it_sorts_the_output_of_mixed_processes() -> None:
    text = """[rank0]: Traceback (most recent call last):
[rank1]: Traceback (most recent call last):
[rank0]:   File "a.py", line 1, in a0
[rank1]:   File "a.py", line 1, in a1
[rank0]:     x()
[rank0]:   File "b.py", line 2, in b0
[rank1]:   File "b.py", line 2, in b1"""
    assert [(frame.function, frame.traceback) for frame in read(text).frames] == [
        ("a0", 0),
        ("a1", 1),
        ("b0", 0),
        ("b1", 1),
    ]


def test_it_reads_the_class_of_a_named_actor() -> None:
    (frame,) = read("RayTaskError(OutOfMemoryError): ray::policy-0-1:PolicyWorker.get_logprobs() (pid=3)").frames
    assert (frame.owner, frame.function, frame.path) == ("PolicyWorker", "get_logprobs", "")


def test_it_reads_frames_whose_heading_is_missing_and_over_which_a_bar_was_printed() -> None:
    (frame,) = read('  File "a.py", line 133, in <module>27<00:00, 6.95s/it]').frames
    assert (frame.function, frame.traceback) == ("<module>", 0)


def test_it_reads_boxed_frames() -> None:
    (frame,) = read("│ /usr/lib/python3/dist-packages/x.py:12 in forward          │").frames
    assert (frame.path, frame.function, frame.source_line) == ("/usr/lib/python3/dist-packages/x.py", "forward", 12)


def test_it_reads_a_frame_that_was_broken_before_its_line_number() -> None:
    text = 'Traceback (most recent call last):\n  File "/a/site-packages/pkg/trainer.py",\nline 2241, in train\n    step()\n'
    assert [(f.path, f.function, f.source_line) for f in read(text).frames] == [
        ("/a/site-packages/pkg/trainer.py", "train", 2241)
    ]


def test_it_reads_a_frame_whose_beginning_was_not_copied() -> None:
    frames = read('grpo_trainer.py", line 1620, in _compute_loss\n    x = self.f(\nValueError: no').frames
    assert [(frame.path, frame.function, frame.line) for frame in frames] == [("grpo_trainer.py", "_compute_loss", 1)]


def test_all_lines_of_a_call_are_source() -> None:
    paste = read(
        'Traceback (most recent call last):\n  File "/opt/vllm/device_allocator/cumem.py", line 194, in sleep\n'
        "    cpu_backup_tensor = torch.empty(\n        size_in_bytes,\n        dtype=torch.uint8,\n        device='cpu',\n"
        "        pin_memory=is_pin_memory_available())\nRuntimeError: CUDA error: out of memory\n"
    )
    assert paste.settings == ()


def test_an_error_ends_a_call_of_which_one_line_is_shown() -> None:
    paste = read(
        '  File "/opt/a.py", line 1, in f\n    x = call(\n  RuntimeError: no\n  batch_size: 4\n  File "/opt/b.py", line 2, in g\n'
    )
    assert [(setting.key, setting.value) for setting in paste.settings] == [("batch_size", "4")]
