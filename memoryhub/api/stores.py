"""Memory stores in the API: create, list, retrieve, update, archive, delete."""

from django.http import HttpRequest
from ninja import Query, Router

from memoryhub.actions.accounts import keys_and_roles, second_person
from memoryhub.actions.memories.api.requests import note_key
from memoryhub.actions.stores import api
from memoryhub.actions.stores.stores import StoreSettings
from memoryhub.api.frame import Call, Json, call_of, needs
from memoryhub.api.schemas import answers
from memoryhub.api.schemas.stores import CreateStore, DeletedStore, ListStores, Store, StorePage, UpdateStore
from memoryhub.machines import cursors
from memoryhub.machines.errors import Problem
from memoryhub.models import Access, MemoryStore
from memoryhub.models.stores import MemoryStoreQuerySet
from memoryhub.pure import chain

router = Router()

ONE = "/memory_stores/{memory_store_id}"


@router.post(
    "/memory_stores", auth=needs(Access.MANAGE, all_stores=True), response=answers(Store),
    summary="Create a memory store",
)  # fmt: skip
def create_memory_store(request: HttpRequest, body: CreateStore) -> Json:
    """Creates an empty memory store with the hub's limits. Needs a key with `manage` access to all memory stores. Names
    need not be unique."""
    settings = StoreSettings(body.name, body.description or "")
    return as_json(api.create_store(call_of(request).asked, settings, body.metadata or {}))


@router.get("/memory_stores", auth=needs(Access.READ), response=answers(StorePage), summary="List memory stores")
def list_memory_stores(request: HttpRequest, query: Query[ListStores]) -> Json:
    """The memory stores that the key reaches, newest first; archived ones only if `include_archived` is `true`."""
    note_key(call_of(request).asked)
    found = list(_after(query, _matching(call_of(request), query))[: query.limit + 1])
    shown = found[: query.limit]
    more = len(found) > query.limit
    last = shown[-1] if more else None
    return {
        "data": [as_json(store) for store in shown],
        "next_page": last and cursors.encode("stores", _filters(query), [chain.moment(last.created_at), last.pk]),
    }


@router.get(ONE, auth=needs(Access.READ), response=answers(Store), summary="Retrieve a memory store")
def retrieve_memory_store(request: HttpRequest, memory_store_id: str) -> Json:
    """One memory store, archived or not."""
    note_key(call_of(request).asked)
    return as_json(_store(memory_store_id))


@router.api_operation(
    ["POST", "PATCH"], ONE, auth=needs(Access.MANAGE), response=answers(Store, 429), summary="Update a memory store"
)
def update_memory_store(request: HttpRequest, memory_store_id: str, body: UpdateStore) -> Json:
    """Changes only what the body contains. A key of `metadata` is set, or removed by null; absent keys stay. A request
    that changes nothing is 200. An archived memory store cannot be updated: 400."""
    given = {"name": body.name, "description": body.description}
    changes = {name: value for name, value in given.items() if value is not None}
    return as_json(api.edit_store(memory_store_id, call_of(request).asked, changes, body.metadata or {}))


@router.delete(
    ONE, auth=needs(Access.MANAGE, all_stores=True, instead="A key to this one may archive it."),
    response=answers(DeletedStore, 429), summary="Delete a memory store",
)  # fmt: skip
def delete_memory_store(request: HttpRequest, memory_store_id: str) -> Json:
    """Permanently deletes a memory store with its memories and memory versions. Its audit entries remain, and a last
    entry records the deletion. Needs a key with `manage` access to all memory stores; a key to only some of them may
    archive these, but not delete them. The answer is 400 if a legal hold is on anything in the memory store, and 403 if
    the hub wants a second person for the deletion."""
    if second_person.is_on():
        raise Problem.needs_second_person()
    api.delete_store(memory_store_id, call_of(request).asked)
    return {"type": "memory_store_deleted", "id": memory_store_id}


@router.post(
    ONE + "/archive", auth=needs(Access.MANAGE), response=answers(Store, 429), summary="Archive a memory store"
)
def archive_memory_store(request: HttpRequest, memory_store_id: str) -> Json:
    """Archives a memory store. It can still be read, its memories can be deleted, and its memory versions can be
    redacted; nothing else in it can be changed. Archiving again is 200 and changes nothing."""
    return as_json(api.archive_store(memory_store_id, call_of(request).asked))


def _store(store_id: str) -> MemoryStore:
    found = MemoryStore.objects.filter(pk=store_id).first()
    if found is None:  # it was deleted since the key was checked
        raise Problem.no_store()
    return found


def _matching(call: Call, query: ListStores) -> MemoryStoreQuerySet:
    stores = (
        MemoryStore.objects.all()
        if keys_and_roles.reaches_all(call.caller)
        else MemoryStore.objects.reached_by(call.caller.key)
    )
    if not query.include_archived:
        stores = stores.active()
    if query.created_at_gte is not None:
        stores = stores.filter(created_at__gte=query.created_at_gte)
    if query.created_at_lte is not None:
        stores = stores.filter(created_at__lte=query.created_at_lte)
    return stores.newest_first()


def _after(query: ListStores, stores: MemoryStoreQuerySet) -> MemoryStoreQuerySet:
    """Return the stores after the cursor of the query, or all `stores` if the query has no cursor."""
    key = cursors.decode("stores", _filters(query), query.page, (str, str))
    return stores if key is None else stores.older_than(cursors.moment(key[0]), key[1])


def _filters(query: ListStores) -> Json:
    return query.model_dump(exclude={"limit", "page"}, mode="json")


def as_json(store: MemoryStore) -> Json:
    """Return a memory store as the API shows it."""
    return {
        "type": "memory_store",
        "id": store.pk,
        "name": store.name,
        "description": store.description,
        "metadata": store.metadata,
        "created_at": chain.moment(store.created_at),
        "updated_at": chain.moment(store.updated_at),
        "archived_at": chain.moment(store.archived_at) if store.archived_at else None,
    }
