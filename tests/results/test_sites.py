"""Rows at several sites: the answer is that of the pooled rows, and only sums travel."""

from __future__ import annotations

import json

import numpy as np
import pytest

import alldags as ad
from lines import fit

NAMES = ("age", "dose", "sex")


def rows(n, seed):
    rng = np.random.default_rng(seed)
    age, dose, sex = rng.normal(60, 10, n), rng.normal(size=n), (rng.random(n) < 0.5).astype(float)
    death = (rng.random(n) < 1 / (1 + np.exp(7 - age / 10 - 0.5 * dose))).astype(float)
    years = rng.uniform(-1, 1, n)
    visits = rng.poisson(np.exp(years + 0.3 * dose)).astype(float)
    return {"age": age, "dose": dose, "sex": sex, "death": death, "visits": visits, "log_years": years}


def pooled(tables):
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def asked(tables, child, family, sent=None, **options):
    """Fit with requests and replies that travel as text."""

    def site(table):
        def answer(request):
            text = json.dumps(request)
            reply = json.dumps(ad.sites.site_reply(table, json.loads(text)))
            if sent is not None:
                sent.append((request["ask"], len(reply)))
            return json.loads(reply)

        return answer

    moments = sum((ad.read_moments(table) for table in tables[1:]), start=ad.read_moments(tables[0]))
    graph = {child: list(NAMES)}
    return ad.sites.fit_sites([site(table) for table in tables], moments, graph, child, family=family, rng=0, **options)


@pytest.mark.parametrize(("child", "family"), [("death", "bernoulli"), ("visits", ad.Poisson(offset="log_years"))])
def test_three_sites_agree_with_the_pooled_rows(child, family):
    tables = [rows(n, n) for n in (300, 900, 150)]
    three, one = asked(tables, child, family), asked([pooled(tables)], child, family)
    for name in ("mean", "inclusion", "second_moment", "log_evidence"):
        np.testing.assert_allclose(getattr(three.node, name), getattr(one.node, name), rtol=1e-8, atol=1e-8)
    assert three.rounds == one.rounds <= 15
    assert three.edges()["cause"] == list(NAMES)


def test_the_answer_is_that_of_fit_on_the_pooled_rows():
    tables = [rows(n, n) for n in (800, 700, 900)]
    together = pooled(tables)
    graph = ad.CandidateGraph.from_edges({(name, "death"): 0.5 for name in NAMES})
    node = fit(together, graph, rng=0)._models.items[0].node("death")
    found = asked(tables, "death", "bernoulli").node
    assert found.base.log_evidence == pytest.approx(node.base.log_evidence, rel=1e-8)
    np.testing.assert_allclose(found.base.mean, node.base.mean, rtol=1e-8)
    np.testing.assert_allclose(found.base.inclusion, node.base.inclusion, rtol=1e-8, atol=1e-10)
    spread = np.sqrt(np.diag(node.second_moment) - node.mean**2)
    assert (np.abs(found.mean - node.mean) / spread).max() < 0.03  # other draws


def test_replies_are_sums_whose_size_does_not_depend_on_the_rows():
    few, many = [], []
    asked([rows(200, 1), rows(200, 2)], "death", "bernoulli", few)
    asked([rows(2000, 1), rows(2000, 2)], "death", "bernoulli", many)
    assert {ask for ask, _ in few} == {"totals", "statistics", "log_likelihoods"}
    sizes = [[size for ask, size in sent if ask == "statistics"] for sent in (few, many)]
    assert max(sizes[1]) < 1.2 * max(sizes[0])


def test_a_site_without_events_takes_part():
    calm = rows(100, 1) | {"death": np.zeros(100)}
    found = asked([calm, rows(400, 2)], "death", "bernoulli")
    assert np.isfinite(found.node.mean).all()
    assert "500 rows" in repr(found)


def test_what_cannot_be_is_refused():
    table = rows(60, 1)
    with pytest.raises(ad.AlldagsError, match="asks for one of totals"):
        ad.sites.site_reply(table, {"ask": "rows"})
    with pytest.raises(ad.AlldagsError, match="has the value 2"):
        asked([table | {"death": table["death"] * 2}, table], "death", "bernoulli")
    gap = table | {"dose": np.where(np.arange(60) == 3, np.nan, table["dose"])}
    request = {"ask": "totals", "family": "bernoulli", "offset": None, "terms": ["dose"], "child": "death"}
    with pytest.raises(ad.AlldagsError, match="missing values"):
        ad.sites.site_reply(gap, request | {"center": {}, "scale": {}})
    with pytest.raises(ad.AlldagsError, match="not in the graph"):
        ad.sites.fit_sites([], ad.read_moments(table), {"death": ["age"]}, "deth")
    with pytest.raises(ad.AlldagsError, match="family must be"):
        asked([table], "death", "student")
    moments = ad.read_moments(table)
    half = {name: values[:30] for name, values in table.items()}
    with pytest.raises(ad.AlldagsError, match="the sites have 30 rows and the moments 60"):
        ad.sites.fit_sites([lambda request: ad.sites.site_reply(half, request)], moments, {"death": ["age"]}, "death")
