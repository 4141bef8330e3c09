"""The builder is equivalent to SQL: pairs of a text and a chain of calls with equal logical queries."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import joinfold as jf
from joinfold import Builder, JoinfoldError, QueryError, Session, UsageError
from joinfold.algebra import AGGREGATES


@pytest.fixture(scope="module")
def session() -> Session:
    session = Session()
    session.stream("bids", "auction_id BIGINT, price DECIMAL(10, 2), bidder BIGINT, ts TIMESTAMP", time="ts")
    session.stream("auctions", "auction_id BIGINT, category STRING, seller BIGINT, ts TIMESTAMP", time="ts")
    session.stream("house.heat", "room STRING, `order` INT, celsius DOUBLE, ts TIMESTAMP", time="ts")
    session.table("person", "id BIGINT, state STRING")
    return session


Chain = Callable[[Session], Builder]


def joined(session: Session) -> Builder:
    return session["bids"].window("1 hour").join(session["auctions"].window("1 hour"), on="auction_id")


PAIRS: dict[str, tuple[str, Chain]] = {
    "the example of the design": (
        "SELECT category, COUNT(*) AS n, MAX(price) AS top "
        "FROM bids [1 HOUR SLIDE 1 MINUTE], auctions [UNBOUNDED] "
        "WHERE bids.auction_id = auctions.auction_id GROUP BY category HAVING n > 5",
        lambda s: s["bids"].window("1 hour", slide="1 minute")
        .join(s["auctions"].unbounded(), on="auction_id")
        .group_by("category").agg(n=jf.count(), top=jf.max("price")).having("n > 5"),
    ),
    "window": (
        "SELECT COUNT(*) AS n FROM bids [10 MINUTE]",
        lambda s: s["bids"].window("10 minutes").agg(n=jf.count()),
    ),
    "window with slide and start": (
        "SELECT COUNT(*) AS n FROM bids [10 MINUTE SLIDE 1 MINUTE START TIMESTAMP '2025-01-01 00:00:07']",
        lambda s: s["bids"].window("10 minutes", "1 minute", start="2025-01-01 00:00:07").agg(n=jf.count()),
    ),
    "window sliding by rows": (
        "SELECT COUNT(*) AS n FROM bids [RANGE 5 MINUTE SLIDE 1000 ROWS]",
        lambda s: s["bids"].window("5 minutes", slide=1000).agg(n=jf.count()),
    ),
    "tumble": (
        "SELECT COUNT(*) AS n FROM bids [TUMBLE 10 MINUTE START TIMESTAMP '2025-01-01']",
        lambda s: s["bids"].tumble("10 minutes", start="2025-01-01").agg(n=jf.count()),
    ),
    "rows": (
        "SELECT COUNT(*) AS n FROM bids [ROWS 5000 SLIDE 1000]",
        lambda s: s["bids"].rows(5000, slide=1000).agg(n=jf.count()),
    ),
    "partitioned rows": (
        "SELECT COUNT(*) AS n FROM bids [PARTITION BY bidder ROWS 5]",
        lambda s: s["bids"].rows(5, partition_by="BIDDER").agg(n=jf.count()),
    ),
    "rows partitioned by two columns": (
        "SELECT COUNT(*) AS n FROM bids [PARTITION BY bidder, auction_id ROWS 5]",
        lambda s: s["bids"].rows(5, partition_by=("bidder", "auction_id")).agg(n=jf.count()),
    ),
    "since a timestamp": (
        "SELECT COUNT(*) AS n FROM bids [FROM TIMESTAMP '2025-01-01']",
        lambda s: s["bids"].unbounded(since="2025-01-01").agg(n=jf.count()),
    ),
    "alias": (
        "SELECT COUNT(b.price) AS n FROM bids AS b [1 HOUR]",
        lambda s: s["bids"].alias("b").window("1 hour").agg(n=jf.count("b.price")),
    ),
    "self-join": (
        "SELECT COUNT(*) AS n FROM bids AS a [1 HOUR], bids AS b [ROWS 5] WHERE a.auction_id = b.auction_id",
        lambda s: s["bids"].alias("a").window("1 hour")
        .join(s["bids"].alias("b").rows(5), on="auction_id").agg(n=jf.count()),
    ),
    "join on conditions": (
        "SELECT COUNT(*) AS n FROM bids b [1 HOUR], auctions a [1 HOUR] "
        "WHERE b.auction_id = a.auction_id AND a.ts <= b.ts AND b.bidder <> a.seller",
        lambda s: s["bids"].alias("b").window("1 hour").join(
            s["auctions"].alias("a").window("1 hour"),
            on=["auction_id", "a.ts <= b.ts AND b.bidder <> a.seller"],
        ).agg(n=jf.count()),
    ),
    "three inputs, one a relation": (
        "SELECT state, SUM(price) AS total FROM bids [1 HOUR], auctions [UNBOUNDED], person "
        "WHERE bids.auction_id = auctions.auction_id AND auctions.seller = person.id GROUP BY state",
        lambda s: s["bids"].window("1 hour")
        .join(s["auctions"].unbounded(), on="auction_id")
        .join(s["person"], on="auctions.seller = person.id")
        .group_by("state").agg(total=jf.sum("price")),
    ),
    "conditions given to an input before the join": (
        "SELECT COUNT(*) AS n FROM bids [1 HOUR], person WHERE price > 5 AND state = 'VT' AND bids.bidder = person.id",
        lambda s: s["bids"].window("1 hour").where("price > 5")
        .join(s["person"].where("state = 'VT'"), on="bids.bidder = person.id").agg(n=jf.count()),
    ),
    "several conditions": (
        "SELECT COUNT(*) AS n FROM bids [1 HOUR] WHERE price > 5 AND bidder IS NOT NULL AND (price < 9 OR bidder = 1)",
        lambda s: s["bids"].window("1 hour").where("price > 5", "bidder IS NOT NULL")
        .where("price < 9 OR bidder = 1").agg(n=jf.count()),
    ),
    "group by an expression": (
        "SELECT UPPER(category), COUNT(*) AS n FROM auctions [1 HOUR] GROUP BY UPPER(category)",
        lambda s: s["auctions"].window("1 hour").group_by("UPPER(category)").agg(n=jf.count()),
    ),
    "group by twice, aggregate twice": (
        "SELECT category, seller, COUNT(*) AS n, MIN(ts) AS first FROM auctions [1 HOUR] GROUP BY category, seller",
        lambda s: s["auctions"].window("1 hour").group_by("category").group_by("seller")
        .agg(n=jf.count()).agg(first=jf.min("ts")),
    ),
    "groups alone": (
        "SELECT category FROM auctions [1 HOUR] GROUP BY category",
        lambda s: s["auctions"].window("1 hour").group_by("category"),
    ),
    "select": (
        "SELECT price * 2, bidder AS who, UPPER('x') AS x FROM bids [1 HOUR]",
        lambda s: s["bids"].window("1 hour").select("price * 2", "bidder AS who", x="UPPER('x')"),
    ),
    "select everything": ("SELECT * FROM bids [1 HOUR]", lambda s: s["bids"].window("1 hour").select("*")),
    "select in place of groups": (
        "SELECT COUNT(*) AS n, category FROM auctions [1 HOUR] GROUP BY category",
        lambda s: s["auctions"].window("1 hour").group_by("category").select("COUNT(*) AS n", "category"),
    ),
    "measures of text": (
        "SELECT SUM(price) / COUNT(*) AS mean FROM bids [1 HOUR]",
        lambda s: s["bids"].window("1 hour").agg(mean="SUM(price) / COUNT(*)"),
    ),
    "filter": (
        "SELECT COUNT(*) FILTER (WHERE price > 5) AS dear, SUM(price) FILTER (WHERE bidder = 1) AS mine "
        "FROM bids [1 HOUR]",
        lambda s: s["bids"].window("1 hour")
        .agg(dear=jf.count().filter("price > 5"), mine=jf.sum("price").filter("bidder = 1")),
    ),
    "every aggregate of one argument": (
        "SELECT SUM(price) AS a, AVG(price) AS b, MIN(price) AS c, MAX(price) AS d, VAR_POP(price) AS e, "
        "VAR_SAMP(price) AS f, STDDEV_POP(price) AS g, STDDEV_SAMP(price) AS h, COUNT(price) AS i FROM bids [1 HOUR]",
        lambda s: s["bids"].window("1 hour").agg(
            a=jf.sum("price"), b=jf.avg("price"), c=jf.min("price"), d=jf.max("price"), e=jf.var_pop("price"),
            f=jf.var_samp("price"), g=jf.stddev_pop("price"), h=jf.stddev_samp("price"), i=jf.count("price"),
        ),
    ),
    "every aggregate of two arguments": (
        "SELECT COVAR_POP(price, bidder) AS a, COVAR_SAMP(price, bidder) AS b, CORR(price, bidder) AS c, "
        "REGR_SLOPE(price, bidder) AS d, REGR_INTERCEPT(price, bidder) AS e FROM bids [1 HOUR]",
        lambda s: s["bids"].window("1 hour").agg(
            a=jf.covar_pop("price", "bidder"), b=jf.covar_samp("price", "bidder"), c=jf.corr("price", "bidder"),
            d=jf.regr_slope("price", "bidder"), e=jf.regr_intercept("price", "bidder"),
        ),
    ),
    "several conditions on groups": (
        "SELECT bidder, COUNT(*) AS n FROM bids [1 HOUR] GROUP BY bidder HAVING n > 5 AND n < 9 AND MAX(price) > 1",
        lambda s: s["bids"].window("1 hour").group_by("bidder").agg(n=jf.count())
        .having("n > 5 AND n < 9").having("MAX(price) > 1"),
    ),
    "emit every": (
        "SELECT COUNT(*) AS n FROM bids [1 HOUR] EMIT EVERY 5 SECONDS CHANGES",
        lambda s: s["bids"].window("1 hour").agg(n=jf.count()).emit(every="5 seconds").changes(),
    ),
    "emit on arrival": (
        "SELECT COUNT(*) AS n FROM bids [1 HOUR] EMIT ON ARRIVAL SNAPSHOT",
        lambda s: s["bids"].window("1 hour").agg(n=jf.count()).emit("arrival").changes().snapshot(),
    ),
    "emit on trigger": (
        "SELECT COUNT(*) AS n FROM bids [ROWS 5] EMIT ON TRIGGER",
        lambda s: s["bids"].rows(5).agg(n=jf.count()).emit("trigger"),
    ),
    "emit on slide, sync on time": (
        "SELECT COUNT(*) AS n FROM bids [ROWS 5] EMIT ON SLIDE SYNC ON TIME",
        lambda s: s["bids"].rows(5).agg(n=jf.count()).emit(on="slide").sync("time"),
    ),
    "sync on full": (
        "SELECT COUNT(*) AS n FROM bids [TUMBLE 1 HOUR] SYNC ON FULL",
        lambda s: s["bids"].tumble("1 hour").agg(n=jf.count()).sync("full"),
    ),
    "sync on window id": (
        "SELECT COUNT(*) AS n FROM bids [TUMBLE 1 HOUR], auctions [TUMBLE 2 HOUR] "
        "WHERE bids.auction_id = auctions.auction_id SYNC ON WINDOW ID MOD 7",
        lambda s: s["bids"].tumble("1 hour").join(s["auctions"].tumble("2 hours"), on="auction_id")
        .agg(n=jf.count()).sync("window id", mod=7),
    ),
    "shed": (
        "SELECT COUNT(*) AS n FROM bids [1 HOUR], auctions [1 HOUR] WHERE bids.auction_id = auctions.auction_id SHED",
        lambda s: joined(s).agg(n=jf.count()).shed(),
    ),
    "shed, with the budgets of estimates": (
        "SELECT COUNT(*) AS n FROM bids [1 HOUR], auctions [1 HOUR] WHERE bids.auction_id = auctions.auction_id "
        "SHED TO HOLD 64 MEGABYTES AND KEEP UP WITHIN 5 SECONDS SAMPLE BY KEY CONFIDENCE 99 PERCENT SEED 7",
        lambda s: joined(s).agg(n=jf.count()).shed(process=5).shed(
            keep_up="5 seconds", hold="64 megabytes", sample="key", confidence=99, seed=7
        ),
    ),
    "shed, with the budgets of pairs": (
        "SELECT price FROM bids [1 HOUR], auctions [1 HOUR] WHERE bids.auction_id = auctions.auction_id "
        "SHED TO KEEP UP AND PROCESS 50000 ROWS PER SECOND AND HOLD 1000 ROWS FAVOUR ALL TO auctions "
        "AT LEAST 10 ROWS OF EACH AT LEAST 20 ROWS PER SECOND OF EACH",
        lambda s: joined(s).select("price").shed(
            keep_up=True, process=50000, hold=1000, favour="all to Auctions", at_least=10, at_least_per_second=20
        ),
    ),
    "shed by row, in rows": (
        "SELECT COUNT(*) AS n FROM bids [1 HOUR], auctions [1 HOUR] WHERE bids.auction_id = auctions.auction_id "
        "SHED TO HOLD 1000 ROWS SAMPLE BY ROW CONFIDENCE 99.5 PERCENT",
        lambda s: joined(s).agg(n=jf.count()).shed(hold="1000 rows", sample="row", confidence=99.5),
    ),
    "shed, with another rule": (
        "SELECT price FROM bids [1 HOUR], auctions [1 HOUR] WHERE bids.auction_id = auctions.auction_id "
        "SHED FAVOUR INVERSE RATES",
        lambda s: joined(s).select("price").shed(favour="inverse rates"),
    ),
    "options": (
        "SELECT COUNT(*) AS n FROM bids [1 HOUR] OPTION (method = tc, early = on, share = 0.5, low = -3, "
        "note = 'two words', word = 'off')",
        lambda s: s["bids"].window("1 hour").agg(n=jf.count()).option(Method="ic", early=True)
        .option(method="tc", share=0.5, low=-3, note="two words", WORD="off"),
    ),
    "names that need quotes": (
        "SELECT a.`order`, MAX(a.celsius) AS `top` FROM house.heat a [1 HOUR], house.heat [1 HOUR] "
        "WHERE a.`order` = heat.`order` GROUP BY a.`order`",
        lambda s: s["house.heat"].alias("a").window("1 hour").join(s["House.Heat"].window("1 hour"), on="order")
        .group_by("a.`order`").agg(top=jf.max("a.celsius")),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_the_builder_gives_the_logical_query_of_the_text(session: Session, name: str) -> None:
    text, chain = PAIRS[name]
    built, written = chain(session), session.sql(text)
    assert built.logical == written.logical
    assert built.to_sql() == written.to_sql()
    assert built.explain("logical") == written.explain("logical")
    assert session.sql(built.to_sql()).logical == built.logical


def test_every_method_of_the_builder_occurs_in_a_pair() -> None:
    methods = {name for name, member in vars(Builder).items() if inspect.isfunction(member) and name[0] != "_"}
    pairs = Path(__file__).read_text(encoding="utf-8").partition("MISTAKES")[0]
    assert {method for method in methods if f".{method}(" not in pairs} == set()
    assert len(PAIRS) >= 20


def test_every_aggregate_has_a_measure() -> None:
    for name in AGGREGATES:
        measure = getattr(jf, name)(*["x"] * AGGREGATES[name].arities[-1])
        assert measure.text == f"{name.upper()}({', '.join(['x'] * AGGREGATES[name].arities[-1])})"


def test_a_chain_leaves_its_beginnings_as_they_were(session: Session) -> None:
    start = session["bids"].window("1 hour")
    counted = start.agg(n=jf.count())
    start.where("price > 5").group_by("bidder").agg(n=jf.count())
    assert counted.logical == session.sql("SELECT COUNT(*) AS n FROM bids [1 HOUR]").logical
    assert counted.logical.where == ()


def test_streams_registered_later_can_be_joined() -> None:
    session = Session()
    session.stream("a", "k INT, ts TIMESTAMP", time="ts")
    first = session["a"].window("1 hour")
    session.stream("b", "k INT, ts TIMESTAMP", time="ts")
    joined = first.join(session["b"].window("1 hour"), on="k").agg(n=jf.count())
    assert [input_.alias for input_ in joined.logical.inputs] == ["a", "b"]


def test_representations(session: Session) -> None:
    assert repr(session["bids"]) == "<joinfold.Builder over bids, not yet a query>"
    assert repr(session["bids"].window("1 hour").agg(n=jf.count())) == (
        "<joinfold.Query SELECT COUNT(*) AS n FROM bids [RANGE 1 HOUR]>"
    )


MISTAKES: dict[str, tuple[Chain, type[JoinfoldError], str]] = {
    "unknown stream": (
        lambda s: s["bid"],
        QueryError,
        "QueryError: unknown stream or relation 'bid'\n"
        "Hint: did you mean 'bids'? The session has: bids, auctions, house.heat, person.",
    ),
    "no window": (
        lambda s: s["bids"].agg(n=jf.count()),
        QueryError,
        "QueryError: stream 'bids' needs a window\n  bids\n  ^^^^\n"
        "Hint: write bids [10 MINUTE SLIDE 1 MINUTE], [10 MINUTE], [ROWS 100] or [UNBOUNDED].",
    ),
    "nothing selected": (
        lambda s: s["bids"].window("1 hour"),
        QueryError,
        "QueryError: the query selects nothing\nHint: add .select('…') or .agg(name=…).",
    ),
    "unknown column": (
        lambda s: s["bids"].window("1 hour").agg(n=jf.max("prize + 1")),
        QueryError,
        "QueryError: unknown column 'prize'\n  MAX(prize + 1)\n      ^^^^^\n"
        "Hint: did you mean 'price'? The query has: auction_id, price, bidder, ts.",
    ),
    "unknown column to partition by": (
        lambda s: s["bids"].rows(5, partition_by="bider").agg(n=jf.count()),
        QueryError,
        "QueryError: unknown column 'bider' in stream 'bids'\n"
        "Hint: did you mean 'bidder'? It has: auction_id, price, bidder, ts.",
    ),
    "no such column to join on": (
        lambda s: s["bids"].window("1 hour").join(s["person"], on="bidder"),
        QueryError,
        "QueryError: cannot join on 'bidder': person has no such column\n"
        "Hint: give a condition, such as on='a.x = b.y'.",
    ),
    "cross join": (
        lambda s: s["bids"].window("1 hour").join(s["person"], on=()).agg(n=jf.count()),
        QueryError,
        "QueryError: no condition connects 'person' with 'bids'\n  person\n  ^^^^^^\n"
        "Hint: add a condition to WHERE, such as bids.key = person.key.",
    ),
    "two inputs of one name": (
        lambda s: s["bids"].window("1 hour").join(s["bids"].window("1 hour"), on="ts").agg(n=jf.count()),
        QueryError,
        "QueryError: two inputs are called 'bids'\n  bids\n  ^^^^\n"
        "Hint: give each its own alias, such as bids AS bids2.",
    ),
    "an expression that does not parse": (
        lambda s: s["bids"].window("1 hour").where("price >"),
        QueryError,
        "QueryError: something is missing after '>'\n  price >\n        ^",
    ),
    "two expressions in one text": (
        lambda s: s["bids"].window("1 hour").select("price, bidder"),
        QueryError,
        "QueryError: unexpected ','\n  price, bidder\n       ^",
    ),
    "an empty expression": (
        lambda s: s["bids"].window("1 hour").where("  "),
        QueryError,
        "QueryError: an expression is empty\nHint: write one, such as 'price * 2'.",
    ),
    "emit on a plain join": (
        lambda s: s["bids"].window("1 hour").select("price").emit("trigger"),
        QueryError,
        "QueryError: EMIT does not apply to a plain join\n"
        "Hint: a query without aggregates emits each combination once, as soon as it exists. Leave out EMIT.",
    ),
    "a size that is no duration": (
        lambda s: s["bids"].window("an hour"),
        UsageError,
        "UsageError: 'an' in the duration 'an hour' is not a whole number\n"
        "Hint: write whole numbers and units, such as '1 hour 30 minutes' for one and a half hours.",
    ),
    "a size of zero": (
        lambda s: s["bids"].window("0 hours"),
        UsageError,
        "UsageError: a window's size must be positive, not 0 SECOND\nHint: give a larger one.",
    ),
    "a slide of zero": (
        lambda s: s["bids"].rows(5, slide=0),
        UsageError,
        "UsageError: a window's slide must be positive, not 0 ROWS\nHint: give a larger one.",
    ),
    "a month": (
        lambda s: s["bids"].tumble("1 month"),
        UsageError,
        "UsageError: '1 month': a MONTH has no fixed length\nHint: use days or weeks.",
    ),
    "start without a slide": (
        lambda s: s["bids"].window("1 hour", start="2025-01-01"),
        UsageError,
        "UsageError: start needs a window with a slide in time\nHint: give slide, such as slide='1 minute'.",
    ),
    "partitions that slide": (
        lambda s: s["bids"].rows(5, slide=2, partition_by="bidder"),
        UsageError,
        "UsageError: a window with partition_by cannot have a slide\nHint: it moves at every row. Leave out slide.",
    ),
    "a window after the join": (
        lambda s: s["bids"].window("1 hour").join(s["person"], on="bidder = id").window("1 hour"),
        UsageError,
        "UsageError: the window or alias of an input must be set before the join\n"
        "Hint: write a.window(…).join(b.window(…), on=…).",
    ),
    "an aggregate query joined": (
        lambda s: s["bids"].window("1 hour").join(s["auctions"].rows(5).agg(n=jf.count()), on="auction_id"),
        UsageError,
        "UsageError: join takes inputs with windows and conditions, not a query with other clauses\n"
        "Hint: call group_by, agg and select after join.",
    ),
    "an empty alias": (
        lambda s: s["bids"].alias(" "),
        UsageError,
        "UsageError: an alias cannot be ' '\nHint: give a name, as text.",
    ),
    "unknown emit rule": (
        lambda s: s["bids"].rows(5).emit("row"),
        UsageError,
        "UsageError: unknown emit rule 'row'\nHint: the rules are: slide, arrival, trigger.",
    ),
    "emit of nothing": (
        lambda s: s["bids"].rows(5).emit(),
        UsageError,
        "UsageError: emit takes either on or every\nHint: write emit('arrival') or emit(every='5 seconds').",
    ),
    "emit every zero": (
        lambda s: s["bids"].rows(5).emit(every="0 seconds"),
        UsageError,
        "UsageError: the emit period must be positive, not '0 seconds'\nHint: give a longer one, such as '5 seconds'.",
    ),
    "unknown sync rule": (
        lambda s: s["bids"].rows(5).sync("window"),
        UsageError,
        "UsageError: unknown sync rule 'window'\nHint: the rules are: time, full, window id.",
    ),
    "mod without window id": (
        lambda s: s["bids"].rows(5).sync("full", mod=3),
        UsageError,
        "UsageError: mod must be a positive number and needs sync('window id')\nHint: write sync('window id', mod=4).",
    ),
    "a budget of nothing": (
        lambda s: joined(s).shed(process=0),
        UsageError,
        "UsageError: the budget of PROCESS must be positive, not 0\n"
        "Hint: write shed(hold='64 megabytes'), shed(process=50000), or shed(keep_up=True, confidence=95).",
    ),
    "a budget that is no whole number": (
        lambda s: joined(s).shed(hold=1.5),  # type: ignore[arg-type]
        UsageError,
        "UsageError: the budget of HOLD must be a whole number, not 1.5\n"
        "Hint: write shed(hold='64 megabytes'), shed(process=50000), or shed(keep_up=True, confidence=95).",
    ),
    "no time to keep up": (
        lambda s: joined(s).shed(keep_up="0 seconds"),
        UsageError,
        "UsageError: the budget of KEEP UP must be positive, not 0\n"
        "Hint: write shed(hold='64 megabytes'), shed(process=50000), or shed(keep_up=True, confidence=95).",
    ),
    "a number to keep up within": (
        lambda s: joined(s).shed(keep_up=5),  # type: ignore[arg-type]
        UsageError,
        "UsageError: '5' is not a duration\nHint: write numbers and units, such as '10 seconds'.",
    ),
    "a size without a unit": (
        lambda s: joined(s).shed(hold="64"),
        UsageError,
        "UsageError: '64' is not an amount to hold\nHint: write '64 megabytes' or '1000 rows'.",
    ),
    "a size in another unit": (
        lambda s: joined(s).shed(hold="64 megabites"),
        UsageError,
        "UsageError: unknown unit 'megabites' of HOLD\n"
        "Hint: did you mean MEGABYTES? The units are ROWS, BYTES, KILOBYTES, MEGABYTES, GIGABYTES.",
    ),
    "unknown sampler": (
        lambda s: joined(s).shed(sample="rows"),
        UsageError,
        "UsageError: unknown sample rule 'rows'\nHint: the rules are: key, row.",
    ),
    "a confidence as a share": (
        lambda s: joined(s).shed(confidence=0.95),
        UsageError,
        "UsageError: a confidence must be from 50 to 99.99 percent, not 0.95\n"
        "Hint: write shed(hold='64 megabytes'), shed(process=50000), or shed(keep_up=True, confidence=95).",
    ),
    "a negative seed": (
        lambda s: joined(s).shed(seed=-1),
        UsageError,
        "UsageError: a seed must be a whole number from 0 to 2^63 − 1, not -1\n"
        "Hint: write shed(hold='64 megabytes'), shed(process=50000), or shed(keep_up=True, confidence=95).",
    ),
    "unknown favour": (
        lambda s: joined(s).shed(favour="rate"),
        UsageError,
        "UsageError: unknown favour rule 'rate'\n"
        "Hint: the rules are: most pairs, rates, inverse rates, windows, equal, all to alias.",
    ),
    "at least nothing": (
        lambda s: joined(s).shed(at_least=0),
        UsageError,
        "UsageError: the number of AT LEAST must be positive, not 0\n"
        "Hint: write shed(hold='64 megabytes'), shed(process=50000), or shed(keep_up=True, confidence=95).",
    ),
    "all to an unknown stream": (
        lambda s: joined(s).select("price").shed(favour="all to auction"),
        QueryError,
        "QueryError: unknown stream 'auction' in FAVOUR ALL TO\n"
        "Hint: did you mean 'auctions'? The query has: bids, auctions.",
    ),
    "a sample of a plain join": (
        lambda s: joined(s).select("price").shed(sample="key"),
        QueryError,
        "QueryError: SAMPLE is about estimates; this query has no aggregates\n"
        "Hint: leave out SAMPLE. FAVOUR, AT LEAST and SEED are for plain joins.",
    ),
    "estimates of one stream": (
        lambda s: s["bids"].rows(5).agg(n=jf.count()).shed(hold=1000),
        QueryError,
        "QueryError: there is no key to sample by: the query reads one stream\n"
        "Hint: SAMPLE BY ROW of a single stream is not supported yet. Leave out SHED, or aggregate in Spark.",
    ),
    "an option that cannot be written": (
        lambda s: s["bids"].rows(5).option(share=float("nan")),
        UsageError,
        "UsageError: option 'share' cannot be nan\nHint: give a string, a number, True or False.",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(session: Session, name: str) -> None:
    chain, kind, report = MISTAKES[name]
    with pytest.raises(JoinfoldError) as caught:
        chain(session).to_sql()
    assert isinstance(caught.value, kind)
    assert caught.value.report() == report
