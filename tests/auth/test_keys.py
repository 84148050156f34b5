"""Bearer headers, keys and where they come from, tenant identity."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluicegate.auth.bearer import bearer_token
from sluicegate.auth.key_files import others_can_read, read_key_file
from sluicegate.auth.keys import SHARED_TENANT, ControlPlaneKey, Role, Source, control_plane_keys, serving_keys
from sluicegate.auth.tenant import tenant_key
from sluicegate.core.errors import InvalidSetting


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (b"Bearer K", "K"),
        (b"bearer K", "K"),
        (b"BEARER   K", "K"),
        (b"  Bearer K  ", "K"),
        (b"Bearer K, Basic x", "K, Basic x"),
        (b"Bearer K\tL", "K\tL"),
        (b"Bearer\tK", None),
        (b"K", None),
        (b"Basic eDp5", None),
        (b"Token K", None),
        (b"Bearer", None),
        (b"Bearer ", None),
        (b"", None),
        (b"Bearer K\xff", None),
        ("Bearer kéy".encode(), None),
        (None, None),
    ],
)
def test_bearer_token(header, token):
    assert bearer_token(header) == token


@given(st.binary())
def test_bearer_token_never_raises(header):
    token = bearer_token(header)
    assert token is None or (token and token == token.strip(" "))


def shared(*entries):
    return Source("api_key", entries)


def tenants(*entries):
    return Source("tenant_api_key", entries)


def control(*entries):
    return Source("control_plane_api_keys", entries)


def test_serving_keys_name_their_tenant():
    ring = serving_keys([shared("s")], [tenants(" red : a:b ", "red:c", "blue:d")])
    assert [ring.owner(key) for key in ("s", "a:b", "c", "d")] == [SHARED_TENANT, "red", "red", "blue"]
    for wrong in ("", "S", "a", "a:", "d ", "dd", "red:c"):
        assert ring.owner(wrong) is None


def test_control_plane_keys_split_at_the_first_three_colons():
    ring = control_plane_keys([control("k1:Ops:ADMIN:x:y:z", "k1:Reader: user :r")])
    assert ring.owner("x:y:z") == ControlPlaneKey("k1", "Ops", Role.ADMIN)
    assert ring.owner("r") == ControlPlaneKey("k1", "Reader", Role.USER)


def test_the_sources_of_a_secret_add_up():
    ring = serving_keys([shared("a"), shared("b"), shared("a")], [tenants("red:c"), tenants("red:c", "red:d")])
    assert len(ring) == 4


@pytest.mark.parametrize(
    ("shared_entries", "tenant_entries"),
    [
        ([""], []),
        (["  "], []),
        (["sekret\u00e9"], []),
        (["sekret\n1"], []),
        (["sekret-1", "sekret-1"], []),
        ([], ["red"]),
        ([], [":sekret-1"]),
        ([], ["red:"]),
        ([], ["red: "]),
        ([], ["shared:sekret-1"]),
        ([], [" shared :sekret-1"]),
        ([], ["red:sekret-1", "red:sekret-1"]),
        ([], ["red:sekret-1", "blue:sekret-1"]),
        (["sekret-1"], ["red:sekret-1"]),
    ],
)
def test_refused_serving_keys(shared_entries, tenant_entries):
    with pytest.raises(InvalidSetting) as caught:
        serving_keys([shared(*shared_entries)], [tenants(*tenant_entries)])
    assert "sekret" not in str(caught.value)
    assert caught.value.field in ("api_key", "tenant_api_key")


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [""],
        ["k1:Ops:sekret-1"],
        ["k1:Ops:root:sekret-1"],
        ["k1:Ops:admin:"],
        ["k1:Ops:admin: "],
        ["a:A:admin:sekret-1", "b:B:user:sekret-1"],
        ["a:A:admin:sekret-1", "a:A:admin:sekret-1"],
    ],
)
def test_refused_control_plane_keys(entries):
    with pytest.raises(InvalidSetting, match="control_plane_api_keys") as caught:
        control_plane_keys([control(*entries)])
    assert "sekret" not in str(caught.value)
    assert "Ops" not in str(caught.value)


def test_one_key_with_different_meaning_in_two_sources_is_refused():
    with pytest.raises(InvalidSetting):
        control_plane_keys([control("a:A:admin:sekret-1"), control("a:A:user:sekret-1")])


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1), st.text())
def test_only_the_very_key_opens(key, other):
    ring = serving_keys([shared(key)], [])
    assert (ring.owner(other) is not None) is (other == key)
    assert ring.owner(key) == SHARED_TENANT


def test_key_file(tmp_path):
    path = tmp_path / "keys"
    path.write_text("# keys of spring\n\n  red:a \r\n#blue:b\nblue:c#d\n")
    assert read_key_file("tenant_api_keys_file", path).entries == ("red:a", "blue:c#d")
    path.chmod(0o600)
    assert not others_can_read(path)
    path.chmod(0o640)
    assert others_can_read(path)


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"\xff\xfe"])
def test_key_file_without_a_key(tmp_path, content):
    path = tmp_path / "keys"
    path.write_bytes(content)
    with pytest.raises(InvalidSetting, match="api_key_file"):
        read_key_file("api_key_file", path)


def test_missing_key_file(tmp_path):
    with pytest.raises(InvalidSetting, match="cannot be read"):
        read_key_file("api_key_file", tmp_path / "nope")


@pytest.mark.parametrize(
    ("owner", "header", "peer", "key"),
    [
        ("red", "blue", "10.0.0.1", "auth:red"),
        (SHARED_TENANT, "blue", "10.0.0.1", "auth:shared"),
        (None, " blue ", "10.0.0.1", "header:blue"),
        (None, "  ", "10.0.0.1", "ip:10.0.0.1"),
        (None, None, "::ffff:10.0.0.1", "ip:10.0.0.1"),
        (None, None, "2001:DB8:0::1", "ip:2001:db8::1"),
        (None, None, "unix", "ip:unix"),
        (None, None, "::nonsense", "ip:::nonsense"),
    ],
)
def test_tenant_key(owner, header, peer, key):
    assert tenant_key(owner, header, peer) == key
