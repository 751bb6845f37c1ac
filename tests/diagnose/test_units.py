import pytest

from diagnose.units import GIB, from_gib, gib, parse_size


@pytest.mark.parametrize("text", ["", "GiB", "760 cores", "12", "1.2.3 GiB"])
def test_it_refuses_what_is_no_size(text):
    with pytest.raises(ValueError, match="is no size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("5.11 GiB", int(5.11 * GIB + 0.5)),
        ("512 MiB", GIB // 2),
        ("0 bytes", 0),
        ("1,024 KiB", 1024**2),
        ("80 GB", 80 * 1000**3),
    ],
)
def test_it_reads_a_printed_size(text, size):
    assert parse_size(text) == size


def test_it_shows_gib_with_one_decimal():
    assert gib(from_gib(100.74)) == "100.7"


def test_a_size_beyond_all_numbers_is_refused():
    with pytest.raises(ValueError, match="no size that memory can have"):
        parse_size("9" * 400 + " GiB")
