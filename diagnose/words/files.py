"""What a file is that holds no text, and what to give instead."""

from __future__ import annotations

# kind (diagnose.ingest.files; binary: of none of them) → what it is, what to do, the command that prints text. The first one's command is
# torch/cuda/_memory_viz.py, which opens the snapshot on the person's own machine.
FILES = {
    "snapshot": (
        "This is a memory snapshot of torch",
        "It is a pickle, which runs code where it is opened, so it is not opened here. Print it as text and paste that:",
        "python -m torch.cuda._memory_viz stats snapshot.pickle | head -200",
    ),
    "pickle": (
        "This is a pickle",
        "It runs code where it is opened, so it is not opened here. Paste the text of the log, or print in the run:",
        "print(torch.cuda.memory_summary())",
    ),
    "compressed": ("This file is compressed", "Send its text:", "zcat train.log.gz | tail -c 50M > train.log"),
    "archive": (
        "This is an archive or a checkpoint",
        "Take the log out of it and send that; of a checkpoint, send its config.json.",
        "",
    ),
    "tensors": ("These are weights", "Of a model, its config.json tells all that is needed: paste that.", ""),
    "picture": ("This is a picture", "Words in pictures are not read. Copy the text of the log and paste that.", ""),
    "document": ("This is a document, not text", "Copy the text of the log and paste that.", ""),
    "binary": (
        "This looks like a binary file",
        "There is hardly a line of text in its beginning. Paste the text of the log, or what this prints:",
        "strings FILE | tail -200",
    ),
    "core": ("This is a program or its core dump", "Send the log of the run instead.", ""),
}


def told(kind: str) -> str:
    """The same in one sentence or two, for a terminal."""
    title, cure, command = FILES[kind]
    return f"{title}. {cure} {command}".strip()
