"""Who gets what at every address of the site: at least one row for each name of the URLconf.

A new address needs a row here, else ``tests/kb/people/test_access.py`` fails with its name. ``tests/kb/world.py`` says what
a row means; the test asks as a visitor and as each role, on an open site and on one for members only.
"""

from __future__ import annotations

from typing import Any

from kb.models import Role
from tests.kb.world import Making, Row, World


def anybody(**more: Any) -> Row:
    """A page that visitors read on an open site."""
    return Row(Role.NOBODY, **more)


def page_of(kind: str) -> Row:
    return anybody(at=lambda world: world.first(kind))


def door(**more: Any) -> Row:
    """A way in: open to visitors always, of no use to those who are in."""
    return Row(Role.NOBODY, door=True, **{"signed_in": 302, **more})


def own(**more: Any) -> Row:
    """A page about oneself."""
    return Row(Role.READER, **more)


def editor(**more: Any) -> Row:
    return Row(Role.EDITOR, **more)


def admin(**more: Any) -> Row:
    return Row(Role.ADMIN, **more)


def the(which: str, **more: Any) -> Making:
    """The address of one of the world's documents."""

    def at(world: World) -> dict[str, Any]:
        row = getattr(world, which)
        return {"kind": row.kind, "slug": row.slug, **{name: value(world) for name, value in more.items()}}

    return at


def slug(which: str) -> Making:
    return lambda world: {"slug": getattr(world, which).slug}


def reading(at: Any = the, hidden_ok: int = 200, thrown_ok: int = 200, **more: Any) -> list[Row]:
    """What is read of a document: the published one by all, what is hidden or thrown away by reviewers and nobody else."""
    unseen = {"below": 404, "visitor": 404, **more}
    return [
        anybody(at=at("shown"), **more),
        Row(Role.REVIEWER, at=at("hidden"), ok=hidden_ok, **unseen),
        Row(Role.REVIEWER, at=at("thrown"), ok=thrown_ok, **unseen),
    ]


def writing(least: Role, ok: int, **more: Any) -> list[Row]:
    """What is done to a document: hidden ones are not there for those who cannot see them, thrown ones are not changed."""
    return [
        Row(least, at=the("shown"), ok=ok, **more),
        Row(max(least, Role.REVIEWER), at=the("hidden"), ok=ok, below=404, **more),
        Row(Role.REVIEWER, at=the("thrown"), ok=403, below=404, **more),
    ]


def deed(do: str, which: str, least: Role, **more: Any) -> Row:
    """One of the buttons of a page: publish, review, delete, fetch back, purge."""
    send = {"do": do, "number": "1"}
    return Row(least, at=the(which), method="post", send=lambda world: send, **{"ok": 302, **more})


WIZARD = {
    "wizard:start": [anybody()],
    "wizard:result": [
        anybody(send=lambda world: {"n_gpus": "8"}),
        anybody(method="post", send=lambda world: {"paste": "x"}),
    ],
    "wizard:questions": [anybody()],
    "wizard:fit": [
        anybody(ok=302),
        anybody(send=lambda world: {"n_gpus": "8"}),
    ],
    "wizard:fit_data": [
        anybody(send=lambda world: {"n_gpus": "8"}, program=True),
        anybody(send=lambda world: {"n_gpus": "8"}, program=True, scope="match"),
    ],
    "wizard:shell": [
        anybody(method="post", token_only=True),
        anybody(method="post", program=True, scope="match"),
    ],
    "wizard:save": [anybody(method="post", ok=302)],
    # A link that nobody was given: whoever has one may see it, tests/wizard says the rest.
    "wizard:saved": [anybody(at=lambda world: {"view": "made-up"}, ok=404)],
    "wizard:saved_own": [anybody(at=lambda world: {"view": "made-up", "key": "up"}, ok=404)],
    **{
        f"wizard:saved_{deed}": [anybody(method="post", at=lambda world: {"view": "made-up", "key": "up"}, ok=404)]
        for deed in ("outcome", "delete", "case")
    },
}
CATALOGUE = {
    "kb:cases": [anybody()],
    "kb:case": reading(slug),
    "kb:guides": [anybody()],
    "kb:guide": [anybody(at=lambda world: {"slug": "none"}, ok=404)],
    "kb:levers": [anybody()],
    "kb:lever": [page_of("levers")],
    "kb:advisories": [anybody()],
    "kb:advisory": [page_of("advisories")],
    "kb:errors": [anybody()],
    "kb:error": [page_of("signatures")],
    "kb:frameworks": [anybody()],
    "kb:framework": [page_of("frameworks")],
    "kb:gpus": [anybody()],
    "kb:gpu": [page_of("gpus")],
    "kb:models": [anybody()],
    "kb:model": [page_of("models")],
    "kb:datasets": [anybody()],
    "kb:dataset": [page_of("datasets")],
    "kb:logs": [anybody()],
    "kb:log": [page_of("logs")],
}
SEARCH = {
    "kb:search": [anybody(send=lambda world: {"q": "offload"})],
    "kb:suggestions": [anybody(send=lambda world: {"q": "offload"})],
    "kb:data_list": [
        anybody(at=lambda world: {"kind": "cases"}, program=True),
        anybody(at=lambda world: {"kind": "levers"}, program=True),
    ],
    "kb:data": [*reading(program=True, thrown_ok=404), *reading(program=True, thrown_ok=404, scope="read")],
    "kb:text": reading(program=True, thrown_ok=404),
    "kb:part": [anybody(at=lambda world: world.part(), program=True)],
}
WRITING = {
    "kb:trash": [editor()],
    "kb:drafts": [editor()],
    "kb:document_new": [editor(at=lambda world: {"kind": "cases"})],
    "kb:preview": [editor(at=lambda world: {"kind": "cases"}, method="post")],
    "kb:draft_new": [editor(at=lambda world: {"kind": "cases"}, method="post")],
    "kb:edit": [*writing(Role.EDITOR, 200)],
    "kb:draft": writing(Role.EDITOR, 200, method="post", send=lambda world: {"text": "x", "base": "1"}),
    "kb:history": reading(),
    "kb:diff": reading(),
    "kb:restore": writing(Role.EDITOR, 302, method="post", send=lambda world: {"number": "1", "newest": "1"}),
    "kb:rename": writing(Role.EDITOR, 302, method="post", send=lambda world: {"slug": "another-name"}),
    "kb:state": [
        deed("publish", "hidden", Role.REVIEWER, below=404, visitor=404),
        deed("unpublish", "shown", Role.REVIEWER),
        deed("unpublish", "hidden", Role.REVIEWER, ok=403, below=404, visitor=404),
        deed("review", "shown", Role.REVIEWER),
        deed("delete", "shown", Role.REVIEWER),
        deed("fetch_back", "thrown", Role.REVIEWER, below=404, visitor=404),
        *(
            deed(do, "thrown", Role.REVIEWER, ok=403, below=404, visitor=404)
            for do in ("publish", "unpublish", "review", "delete")
        ),
    ],
}
AROUND = {
    "kb:changes": [anybody()],
    "kb:feed": [anybody(program=True)],
    "kb:feed_of": [anybody(at=lambda world: {"kind": "cases"}, program=True)],
    "kb:notices": [own()],
    "kb:comment": writing(Role.READER, 302, method="post", send=lambda world: {"text": "As here."}),
    # A reader's remark: its author changes it, reviewers may take it away.
    "kb:comment_change": [
        Row(Role.READER, at=the("shown", pk=lambda world: 0), ok=404),
        Row(Role.EDITOR, at=the("shown", pk=lambda world: world.comment.pk), ok=403, below=200),
    ],
    "kb:comment_delete": [
        Row(Role.READER, at=the("shown", pk=lambda world: 0), method="post", ok=404),
        Row(Role.REVIEWER, at=the("hidden", pk=lambda world: world.comment.pk), method="post", ok=404, below=404),
    ],
    "kb:watch": writing(Role.READER, 302, method="post"),
    "kb:attach": writing(Role.EDITOR, 302, method="post"),
    "kb:file": [
        anybody(at=the("shown", name=lambda world: world.file.name)),
        anybody(at=the("hidden", name=lambda world: world.file.name), ok=404),
    ],
    "kb:detach": [
        editor(at=the("shown", name=lambda world: "none"), method="post", ok=404),
        editor(at=the("shown", name=lambda world: world.file.name), method="post", ok=302),
    ],
}
SERVICE = {
    "kb:healthz": [door(signed_in=None)],
    "kb:readyz": [door(signed_in=None)],
    "kb:metrics": [door(ok=404, signed_in=404)],  # for a token of the settings alone
    "kb:openapi": [anybody(program=True)],
    "kb:estimates": [anybody()],
    "kb:estimates_data": [anybody(program=True)],
    "kb:progress": [anybody()],
    "kb:refresh": [Row(Role.REVIEWER, method="post", ok=302)],
    "kb:refresh_stop": [Row(Role.REVIEWER, method="post", ok=302)],
}
NO_PROVIDER = door(at=lambda world: {"provider_id": "sso"}, ok=404, signed_in=404)
SIGNING_IN = {
    "account_login": [door()],
    "mfa_authenticate": [Row(Role.READER, ok=302)],
    "account_reauthenticate": [own(ok=403)],
    "mfa_reauthenticate": [own(ok=403)],
    "account_inactive": [door(signed_in=None)],
    "account_signup": [door()],
    "socialaccount_signup": [door()],
    "openid_connect_login": [door(method="post", at=lambda world: {"provider_id": "sso"}, ok=404, signed_in=404)],
    "openid_connect_callback": [NO_PROVIDER],
    "socialaccount_login_cancelled": [door(signed_in=None)],
    "account_logout": [door(method="post", ok=302)],
    "account_reset_password": [door(signed_in=None)],
    "account_reset_password_done": [door(signed_in=None)],
    "account_reset_password_from_key": [door(at=lambda world: {"uidb36": "1", "key": "x-y"}, signed_in=None)],
    "account_reset_password_from_key_done": [door(signed_in=None)],
    "kb:setup": [door(at=lambda world: {"token": "worn"}, ok=404, signed_in=404)],
    "kb:join": [door(at=lambda world: {"token": world.invitation}, signed_in=200)],
    "kb:way_in": [
        door(at=lambda world: {"token": world.way_in}, signed_in=200),
        door(at=lambda world: {"token": world.way_in}, method="post", ok=302),
    ],
}
OWN = {
    "kb:me": [own()],
    "kb:email": [own()],
    "account_change_password": [own(ok=302)],
    "account_set_password": [own()],
    "mfa_index": [own()],
    "mfa_activate_totp": [own()],
    "mfa_deactivate_totp": [own(ok=404)],
    "mfa_view_recovery_codes": [own(ok=404)],
    "mfa_generate_recovery_codes": [own()],
    "mfa_download_recovery_codes": [own(ok=404)],
    "socialaccount_connections": [own()],
    "kb:tokens": [own()],
    "kb:token_new": [own(), own(method="post", send=lambda world: {"name": "x", "scopes": ["read"], "days": 30})],
    # A reader's token: it is not there for anybody else, whatever their role.
    "kb:token_revoke": [
        Row(Role.EDITOR, method="post", at=lambda world: {"pk": world.token.pk}, ok=404, below=302),
    ],
}
ADMIN = {
    "kb:members": [admin()],
    "kb:member_role": [
        admin(
            method="post", at=lambda world: {"pk": world.people[Role.READER].pk}, send=lambda world: {"role": 3}, ok=302
        )
    ],
    "kb:member_active": [admin(method="post", at=lambda world: {"pk": world.people[Role.EDITOR].pk}, ok=302)],
    "kb:invitations": [admin(), admin(method="post", send=lambda world: {"role": 1})],
    "kb:invitation_revoke": [admin(method="post", at=lambda world: {"pk": world.open_invitation.pk}, ok=302)],
    "kb:exchange": [admin(), admin(method="post", ok=422)],
    "kb:export": [admin(program=True, visitor=401)],
    "kb:audit": [admin()],
}
ROWS: dict[str, list[Row]] = {
    **WIZARD,
    **CATALOGUE,
    **SEARCH,
    **WRITING,
    **AROUND,
    **SERVICE,
    **SIGNING_IN,
    **OWN,
    **ADMIN,
}
