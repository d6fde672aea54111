"""Quantities are parsed, rejected and scaled as documented."""

import math
import pickle
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from helpers.work import at_most_calls, at_most_cpu_seconds
from hypothesis import given
from hypothesis import strategies as st

from speccompile.model.diagnostic import quote
from speccompile.model.quantity import Quantity, QuantityError, parse_quantity, scaled_up

EXAMPLES = "write a number and at most one suffix, such as `2`, `500m`, `8G` or `8Gi`"
BOTH = "write `8G` (powers of ten) or `8Gi` (powers of two)"
LARGEST = 2**63 - 1

READ = [
    ("0", Fraction(0)),
    ("-0", Fraction(0)),
    ("1", Fraction(1)),
    ("+1", Fraction(1)),
    ("-1", Fraction(-1)),
    ("007", Fraction(7)),
    (".5", Fraction(1, 2)),
    ("5.", Fraction(5)),
    ("5.Gi", Fraction(5 * 2**30)),
    ("0.1Gi", Fraction(2**30, 10)),
    ("1n", Fraction(1, 10**9)),
    ("1u", Fraction(1, 10**6)),
    ("500m", Fraction(1, 2)),
    ("1k", Fraction(10**3)),
    ("1M", Fraction(10**6)),
    ("1G", Fraction(10**9)),
    ("1T", Fraction(10**12)),
    ("1P", Fraction(10**15)),
    ("1E", Fraction(10**18)),
    ("1Ki", Fraction(2**10)),
    ("1Mi", Fraction(2**20)),
    ("1Gi", Fraction(2**30)),
    ("1Ti", Fraction(2**40)),
    ("1Pi", Fraction(2**50)),
    ("1Ei", Fraction(2**60)),
    ("1E3", Fraction(1000)),
    ("1e3", Fraction(1000)),
    ("1e+3", Fraction(1000)),
    ("1E-3", Fraction(1, 1000)),
    ("1.5e3", Fraction(1500)),
    ("1e-40", Fraction(1, 10**9)),
    ("0e40", Fraction(0)),
    ("0.9n", Fraction(1, 10**9)),
    ("-0.9n", Fraction(-1, 10**9)),
    ("1.0000000001", Fraction(10**9 + 1, 10**9)),
    ("9223372036854775807", Fraction(LARGEST)),
    ("-9223372036854775807", Fraction(-LARGEST)),
    ("0" * 63 + "1", Fraction(1)),
]

NUMBERS = [
    (0, "0"),
    (8, "8"),
    (-3, "-3"),
    (0.5, "0.5"),
    (1e3, "1000"),
    (-0.0, "0"),
    (1e-7, "0.0000001"),
    (2.5e-5, "0.000025"),
    (LARGEST, "9223372036854775807"),
]

REFUSED: list[tuple[str | float, str, str | None]] = [
    ("", "a quantity cannot be empty", EXAMPLES),
    ("8GB", "`8GB` does not end in a known suffix", BOTH),
    ("8gb", "`8gb` does not end in a known suffix", BOTH),
    ("8Gb", "`8Gb` does not end in a known suffix", BOTH),
    ("8g", "`8g` does not end in a known suffix", BOTH),
    ("8gi", "`8gi` does not end in a known suffix", "write `8Gi`"),
    ("8GiB", "`8GiB` does not end in a known suffix", "write `8Gi`"),
    ("8GI", "`8GI` does not end in a known suffix", "write `8Gi`"),
    ("8K", "`8K` does not end in a known suffix", "write `8k` (powers of ten) or `8Ki` (powers of two)"),
    ("8KB", "`8KB` does not end in a known suffix", "write `8k` (powers of ten) or `8Ki` (powers of two)"),
    ("8kb", "`8kb` does not end in a known suffix", "write `8k` (powers of ten) or `8Ki` (powers of two)"),
    ("8kib", "`8kib` does not end in a known suffix", "write `8Ki`"),
    ("8ki", "`8ki` does not end in a known suffix", "write `8Ki`"),
    ("8mb", "`8mb` does not end in a known suffix", "write `8M` (powers of ten) or `8Mi` (powers of two)"),
    ("8mi", "`8mi` does not end in a known suffix", "write `8Mi`"),
    ("1e", "`1e` does not end in a known suffix", "write `1E` (powers of ten) or `1Ei` (powers of two)"),
    ("8B", "`8B` does not end in a known suffix", "write `8`"),
    ("8bytes", "`8bytes` does not end in a known suffix", "write `8`"),
    ("8cores", "`8cores` does not end in a known suffix", "write `8`"),
    ("500mcpu", "`500mcpu` does not end in a known suffix", "write `500m`"),
    ("8µ", "`8µ` does not end in a known suffix", "write `8u`"),
    ("8U", "`8U` does not end in a known suffix", "write `8u`"),
    ("8i", "`8i` does not end in a known suffix", EXAMPLES),
    ("1.2.3", "`1.2.3` does not end in a known suffix", EXAMPLES),
    ("1e3.5", "`1e3.5` does not end in a known suffix", EXAMPLES),
    ("1e3Gi", "`1e3Gi` does not end in a known suffix", EXAMPLES),
    ("0x10", "`0x10` does not end in a known suffix", EXAMPLES),
    ("50%", "`50%` does not end in a known suffix", EXAMPLES),
    ("8\x00", r"`8\x00` does not end in a known suffix", EXAMPLES),
    ("8 Gi", "`8 Gi` contains white space", "write `8Gi`, without the space"),
    (" 8Gi", "` 8Gi` contains white space", "write `8Gi`, without the space"),
    ("8Gi\n", r"`8Gi\n` contains white space", "write `8Gi`, without the space"),
    ("8\u00a0Gi", r"`8\xa0Gi` contains white space", "write `8Gi`, without the space"),
    ("8 GB", "`8 GB` contains white space", BOTH),
    (" ", "` ` contains white space", EXAMPLES),
    ("1_000", "`1_000` contains an underscore", "write `1000`, without the underscore"),
    (
        "1_000GB",
        "`1_000GB` contains an underscore",
        "write `1000G` (powers of ten) or `1000Gi` (powers of two)",
    ),
    ("8,5Gi", "`8,5Gi` contains a comma", "write `8.5Gi`"),
    ("8,5GB", "`8,5GB` contains a comma", "write `8.5G` (powers of ten) or `8.5Gi` (powers of two)"),
    (
        "1,000",
        "`1,000` contains a comma",
        "write `1000`, without the comma, or `1.000` for a decimal fraction",
    ),
    ("1,000,000Ki", "`1,000,000Ki` contains a comma", "write `1000000Ki`, without the comma"),
    ("1,000GB", "`1,000GB` contains a comma", "write `1000G` (powers of ten) or `1000Gi` (powers of two)"),
    (",", "`,` contains a comma", EXAMPLES),
    ("Gi", "`Gi` does not start with a number", EXAMPLES),
    ("-", "`-` does not start with a number", EXAMPLES),
    (".", "`.` does not start with a number", EXAMPLES),
    ("--5", "`--5` does not start with a number", EXAMPLES),
    ("٨Gi", "`٨Gi` does not start with a number", EXAMPLES),
    ("\ud800", r"`\ud800` does not start with a number", EXAMPLES),
    ("1e41", "the exponent of `1e41` is out of range", "use an exponent from -40 to 40"),
    ("1e-41", "the exponent of `1e-41` is out of range", "use an exponent from -40 to 40"),
    ("1e9999999999", "the exponent of `1e9999999999` is out of range", "use an exponent from -40 to 40"),
    ("8Ei", "`8Ei` is out of range", f"the largest quantity is `{LARGEST}`"),
    ("-8Ei", "`-8Ei` is out of range", f"the largest quantity is `{LARGEST}`"),
    (f"{LARGEST}.1", f"`{LARGEST}.1` is out of range", f"the largest quantity is `{LARGEST}`"),
    ("1" * 65, f"`{'1' * 40}…` has 65 characters, and a quantity at most 64", None),
    (True, "`true` is not a quantity", EXAMPLES),
    (False, "`false` is not a quantity", EXAMPLES),
    (math.nan, "`nan` is not a quantity", EXAMPLES),
    (math.inf, "`inf` is not a quantity", EXAMPLES),
    (-math.inf, "`-inf` is not a quantity", EXAMPLES),
    (1e300, "`1e+300` is out of range", f"the largest quantity is `{LARGEST}`"),
    (1e-300, "`1e-300` has too many digits for a quantity", None),
    (2**63, "the number is out of range", f"the largest quantity is `{LARGEST}`"),
    (-(2**63), "the number is out of range", f"the largest quantity is `{LARGEST}`"),
]

SCALED = [
    ("32Gi", "1.1", "37795712205"),
    ("1Gi", "1.5", "1536Mi"),
    ("2Gi", "1.5", "3Gi"),
    ("10G", "1.1", "11G"),
    ("1G", "1.1", "1100M"),
    ("1k", "1.0005", "1001"),
    ("1Ki", "1.5", "1536"),
    ("1.5Gi", "1", "1536Mi"),
    ("1000", "1.1", "1100"),
    ("1000000", "1", "1000000"),
    ("1e3", "1.5", "1500"),
    ("1E3", "1", "1000"),
    ("1E", "1.5", "1500P"),
    ("0Gi", "2", "0Gi"),
    ("0.1", "1", "1"),
    ("500m", "1.5", "1000m"),
    ("-3", "0.5", "-1"),
]

SUFFIXES = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
DECIMAL_POWERS = dict(zip("num kMGTPE", range(-9, 21, 3), strict=True))

digits = st.text("0123456789", min_size=1, max_size=12)
spellings = st.builds(
    lambda sign, whole, fraction, suffix: f"{sign}{whole}{fraction}{suffix}",
    st.sampled_from(["", "+", "-"]),
    digits,
    st.one_of(st.just(""), st.just("."), digits.map(".{}".format)),
    st.one_of(st.sampled_from(SUFFIXES), st.integers(-45, 25).map("e{}".format)),
)
small_spellings = st.builds(
    lambda number, suffix: f"{number}{suffix}",
    st.integers(0, 4000),
    st.sampled_from([suffix for suffix in SUFFIXES if suffix[:1] != "E"]),
)


def read(text: str | float) -> Quantity | None:
    try:
        return parse_quantity(text)
    except QuantityError:
        return None


def independent(text: str) -> Decimal:
    """The value without any of the code under test: Decimal arithmetic wide enough to be exact."""
    wide = Context(prec=200)
    stem = text.rstrip("i")
    suffix = stem[-1] if stem[-1].isalpha() else ""
    if text.endswith("i"):
        scale = wide.power(1024, "KMGTPE".index(suffix) + 1)
    elif suffix:
        scale = wide.scaleb(Decimal(1), DECIMAL_POWERS[suffix])
    else:
        scale = Decimal(1)
    exact = wide.multiply(Decimal(stem.removesuffix(suffix)), scale)
    return exact.quantize(Decimal("1e-9"), rounding="ROUND_UP", context=wide)


@pytest.mark.parametrize(("text", "value"), READ)
def test_a_quantity_has_the_value_kubernetes_gives_it(text: str, value: Fraction) -> None:
    quantity = parse_quantity(text)
    assert quantity.value == value
    assert quantity.text == text


@pytest.mark.parametrize(("number", "text"), NUMBERS)
def test_a_number_is_written_out_without_an_exponent(number: float, text: str) -> None:
    assert parse_quantity(number).text == text


@pytest.mark.parametrize(("text", "message", "advice"), REFUSED)
def test_an_error_has_a_message_and_the_right_spelling(text: str | float, message: str, advice: str | None) -> None:
    with pytest.raises(QuantityError) as refused:
        parse_quantity(text)
    assert (refused.value.message, refused.value.help) == (message, advice)


@pytest.mark.parametrize(("text", "factor", "expected"), SCALED)
def test_scaling_keeps_the_largest_whole_unit(text: str, factor: str, expected: str) -> None:
    assert scaled_up(parse_quantity(text), Fraction(factor)) == expected


def test_scaling_out_of_range_is_refused() -> None:
    with pytest.raises(QuantityError) as refused:
        scaled_up(parse_quantity("7Ei"), Fraction(2))
    assert refused.value.message == "`7Ei` scaled up is out of range"


def test_equality_order_and_hash_go_by_value() -> None:
    gibi, mebi = parse_quantity("1Gi"), parse_quantity("1024Mi")
    assert gibi == mebi
    assert hash(gibi) == hash(mebi)
    assert (gibi.text, mebi.text) == ("1Gi", "1024Mi")
    assert parse_quantity("1G") < gibi
    assert max(gibi, parse_quantity("2k")) is gibi


def test_an_error_survives_pickling() -> None:
    error = QuantityError("message", "advice")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  its own bytes
    assert (again.message, again.help, str(again)) == ("message", "advice", "message")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc", "`abc`"),
        ("", '`""`'),
        ("é", "`é`"),
        ("a\nb", r"`a\nb`"),
        ("\u202e", r"`\u202e`"),
        ("\ud800", r"`\ud800`"),
        ("x" * 40, f"`{'x' * 40}`"),
        ("x" * 41, f"`{'x' * 40}…`"),
        ("\0" * 41, "`" + r"\x00" * 10 + "…`"),
    ],
)
def test_quoting_cuts_and_escapes(text: str, expected: str) -> None:
    assert quote(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1" * 10**6, id="digits"),
        pytest.param("1e" + "9" * 10**6, id="exponent"),
        pytest.param(" " * 10**6, id="spaces"),
        pytest.param(",1" * 10**6, id="commas"),
        pytest.param("1,_ " * 16, id="everything"),
        pytest.param(10**100_000, id="integer"),
        pytest.param(-(10**100_000), id="negative integer"),
    ],
)
def test_hostile_input_is_refused_with_little_work(text: str | int) -> None:
    with at_most_calls(5_000), at_most_cpu_seconds(2):
        assert read(text) is None


@given(st.one_of(st.text(), st.text("0123456789.,_ eEiKMGnumkb+-"), st.text(st.characters(categories=["Cs"]))))
def test_any_text_is_read_or_refused(text: str) -> None:
    refusal = None
    try:
        assert parse_quantity(text).text == text
    except QuantityError as error:
        refusal = error
    if refusal is not None:
        assert refusal.message.isprintable()
        assert len(refusal.message) < 120
        assert refusal.help is None or refusal.help.isprintable()


@given(st.one_of(st.integers(), st.floats()))
def test_any_number_is_read_or_refused(number: float) -> None:
    quantity = read(number)
    if quantity is not None:
        assert math.isclose(quantity.value, number, abs_tol=1e-9)
        assert "e" not in quantity.text


@given(spellings)
def test_values_agree_with_decimal_arithmetic(text: str) -> None:
    quantity, expected = read(text), independent(text)
    exponent = int(text.partition("e")[2] or 0)
    if abs(expected) > LARGEST or abs(exponent) > 40:
        assert quantity is None
    else:
        assert quantity is not None
        assert quantity.value == Fraction(expected)


@given(spellings, spellings)
def test_comparison_agrees_with_decimal_arithmetic(left: str, right: str) -> None:
    one, other = read(left), read(right)
    if one is None or other is None:
        return
    assert (one < other, one == other, one > other) == (
        independent(left) < independent(right),
        independent(left) == independent(right),
        independent(left) > independent(right),
    )
    assert one != other or hash(one) == hash(other)


@given(small_spellings, st.fractions(min_value=0, max_value=10, max_denominator=1000))
def test_scaling_rounds_up_by_less_than_a_byte_and_reads_back(text: str, factor: Fraction) -> None:
    quantity = parse_quantity(text)
    exact = quantity.value * factor
    if exact > LARGEST:
        with pytest.raises(QuantityError):
            scaled_up(quantity, factor)
        return
    again = parse_quantity(scaled_up(quantity, factor))
    assert exact <= again.value < exact + 1
    assert again.value.denominator == 1
