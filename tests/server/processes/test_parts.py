"""The parts of several processes by themselves: messages, shared tokenizers, sums of metrics, settings."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from sluicegate.server.processes.channel import Channel
from sluicegate.server.processes.connection_counts import ABSENT, ConnectionCounts, make_file
from sluicegate.server.processes.messages import (
    Applied,
    Description,
    Discard,
    Forward,
    FromSource,
    Load,
    Loaded,
    NotLoaded,
    Publish,
    Remove,
    ToSupervisor,
    Welcome,
    read_to_process,
    read_to_supervisor,
)
from sluicegate.server.processes.shared_tokenizers import (
    DescribedTokenizer,
    Fleet,
    Keeper,
    NotLoadedEverywhere,
    NotLoadedForNow,
    SharedStore,
)
from sluicegate.server.processes.sharing import settings_of_processes
from sluicegate.server.processes.summed_metrics import SummedMetrics, families_of
from sluicegate.settings import Settings, resolve
from sluicegate.tokenizers.protocol import Engine

ENGINE = Engine("splintr", "table", "tokenizers", "a reason")
DESCRIPTION = Description(258, ENGINE)
ORDER = FromSource("a/source", None)


# ---------------------------------------------------------------- messages


def test_messages_arrive_whole_and_in_order() -> None:
    async def main() -> None:
        received: list[ToSupervisor] = []
        ended = asyncio.Event()
        ours, theirs = socket.socketpair()
        reader: Channel[ToSupervisor, Any] = Channel(read_to_supervisor, received.append, ended.set)
        writer: Channel[Any, ToSupervisor] = Channel(read_to_process, lambda _message: None, lambda: None)
        await reader.open(ours)
        await writer.open(theirs)
        sent = [Forward(number, "POST", "/x", b"x" * size, b"id") for number, size in enumerate((0, 3, 500_000, 1))]
        for message in sent:
            writer.send(message)
        writer.close()
        writer.send(sent[0])  # to nobody
        await asyncio.wait_for(ended.wait(), 20)
        assert received == sent
        reader.close()

    asyncio.run(main())


def test_a_process_gets_the_settings_as_they_are() -> None:
    import msgspec

    settings = resolve({"api_key": ["k"], "prometheus_duration_buckets": ["0.1", "1"], "processes": "3"}, {})
    published = [Publish(1, 2, ORDER, DESCRIPTION, "name", "id", "a/source")]
    welcome = Welcome(1, settings, published, {"m": ("qwen", None)}, 1, None)
    assert read_to_process(msgspec.msgpack.encode(welcome)) == welcome


def test_keys_of_files_are_read_once(tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in ("api_key_file", "tenant_api_keys_file", "control_plane_api_keys_file")}
    for path, text in zip(paths.values(), ("one\n# no key\ntwo\n", "red:r\n", "i:n:admin:k\n"), strict=True):
        path.write_text(text)
    files = {name: str(path) for name, path in paths.items()}
    found = settings_of_processes(Settings(api_key=("two", "three"), **files))
    assert found.api_key == ("two", "three", "one")
    assert (found.tenant_api_key, found.control_plane_api_keys) == (("red:r",), ("i:n:admin:k",))
    assert {getattr(found, name) for name in paths} == {None}
    assert settings_of_processes(Settings()).control_plane_api_keys is None  # none are not an empty list of them


def test_a_process_with_more_connections_than_another_knows_it() -> None:
    with make_file(3) as file:
        one, other = (ConnectionCounts(file.fileno(), 3) for _ in range(2))
        one.set(1, 2)
        assert not one.has_more_than_others(1)  # the others do not accept
        other.set(2, 1)
        assert one.has_more_than_others(1)
        assert not other.has_more_than_others(2)
        other.set(2, ABSENT)
        assert not one.has_more_than_others(1)


# ---------------------------------------------------------------- tokenizers


class Fake:
    """A process that keeps what it is told."""

    def __init__(self, fleet: Fleet) -> None:
        self.told: list[Any] = []
        self.fleet = fleet
        self.keeper = Keeper(self.told.append)
        self.keeper.accepts = True
        self.welcomed = fleet.join(self.keeper)

    def say(self, message: Loaded | NotLoaded | Applied) -> None:
        self.fleet.receive(self.keeper, message)


def in_fleet(test: Callable[[Fleet, Fake, Fake], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        fleet = Fleet()
        await test(fleet, Fake(fleet), Fake(fleet))

    asyncio.run(main())


async def loading(fleet: Fleet) -> asyncio.Task[DescribedTokenizer]:
    task = asyncio.create_task(fleet.load(ORDER))
    await asyncio.sleep(0)
    return task


def test_a_tokenizer_is_loaded_once_every_process_has_it() -> None:
    async def test(fleet: Fleet, one: Fake, other: Fake) -> None:
        task = await loading(fleet)
        assert one.told == other.told == [Load(1, ORDER)]
        one.say(Loaded(1, DESCRIPTION))
        await asyncio.sleep(0)
        assert not task.done()
        other.say(Loaded(1, DESCRIPTION))
        assert (await task).engine == ENGINE

    in_fleet(test)


@pytest.mark.parametrize(("retryable", "kind"), [(False, NotLoadedEverywhere), (True, NotLoadedForNow)])
def test_where_one_process_fails_all_forget_it(retryable: bool, kind: type[NotLoadedEverywhere]) -> None:
    async def test(fleet: Fleet, one: Fake, other: Fake) -> None:
        task = await loading(fleet)
        one.say(Loaded(1, DESCRIPTION))
        other.say(NotLoaded(1, "no such file", retryable))
        with pytest.raises(kind, match="no such file") as caught:
            await task
        assert caught.value.retryable is retryable
        await asyncio.sleep(0)
        assert one.told[1:] == other.told[1:] == [Discard(1)]

    in_fleet(test)


def test_different_tokenizers_are_none() -> None:
    async def test(fleet: Fleet, one: Fake, other: Fake) -> None:
        task = await loading(fleet)
        one.say(Loaded(1, DESCRIPTION))
        other.say(Loaded(1, Description(259, ENGINE)))
        with pytest.raises(NotLoadedForNow, match="has changed while"):
            await task

    in_fleet(test)


def test_a_process_that_ends_is_not_waited_for() -> None:
    async def test(fleet: Fleet, one: Fake, other: Fake) -> None:
        task = await loading(fleet)
        one.say(Loaded(1, DESCRIPTION))
        fleet.leave(other.keeper)
        assert (await task).vocab_size == 258
        task = await loading(fleet)
        fleet.leave(one.keeper)
        with pytest.raises(NotLoadedForNow, match="No process"):
            await task

    in_fleet(test)


def test_a_change_is_settled_once_every_process_that_serves_has_made_it() -> None:
    async def test(fleet: Fleet, one: Fake, other: Fake) -> None:
        store = SharedStore(fleet)
        described: Any = DescribedTokenizer(7, ORDER, DESCRIPTION)
        store.add("name", described, "a/source", "the-id")
        published = Publish(1, 7, ORDER, DESCRIPTION, "name", "the-id", "a/source")
        assert one.told == other.told == [published]
        starting = Fake(fleet)
        starting.keeper.accepts = False
        assert starting.welcomed == ([published], {})
        settled = asyncio.create_task(fleet.settled())
        for process in (one, other):
            await asyncio.sleep(0)
            assert not settled.done()
            process.say(Applied(1))
        await settled
        store.remove("name")
        assert (one.told[-1], starting.told) == (Remove(2, "the-id"), [Remove(2, "the-id")])
        one.say(Applied(2))
        assert not fleet.is_settled
        fleet.leave(other.keeper)
        await fleet.settled()
        assert Fake(fleet).welcomed == ([], {})

    in_fleet(test)


def test_a_tokenizer_that_nobody_keeps_is_forgotten_by_all() -> None:
    async def test(fleet: Fleet, one: Fake, other: Fake) -> None:
        task = await loading(fleet)
        one.say(Loaded(1, DESCRIPTION))
        other.say(Loaded(1, DESCRIPTION))
        await task
        del task  # its job was cancelled just now
        for _ in range(4):
            gc.collect()
            await asyncio.sleep(0)
        assert one.told[-1] == other.told[-1] == Discard(1)

    in_fleet(test)


# ---------------------------------------------------------------- metrics


def registry(requests: float, connections: float) -> CollectorRegistry:
    class Numbers:
        def collect(self) -> list[Metric]:
            counter = CounterMetricFamily("requests", "Requests.", labels=["path", "method"])
            counter.add_metric(["/a", "GET"], requests)
            return [counter, GaugeMetricFamily("connections", "Connections.", value=connections)]

    made = CollectorRegistry()
    made.register(Numbers())  # type: ignore[arg-type]
    return made


def test_counters_of_processes_that_have_ended_stay_and_levels_go() -> None:
    sums = SummedMetrics()
    first, second = families_of(registry(3, 2)), families_of(registry(4, 5))
    assert b'requests_total{method="GET",path="/a"} 7.0\n' in sums.exposition([first, second])
    sums.retire(first)
    sums.retire(families_of(registry(10, 1)))
    text = sums.exposition([second])
    assert b'requests_total{method="GET",path="/a"} 17.0\n' in text
    assert b"\nconnections 5.0\n" in text
    assert b"\n# TYPE connections gauge\n" in text
    assert b"connections 0.0" in sums.exposition([families_of(registry(0, 0))])
