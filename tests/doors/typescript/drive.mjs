// Drives the memory_stores API with the TypeScript SDK and prints, as JSON, what it was given.
// Usage: node drive.mjs methods|door, with the hub in TARGET (JSON: url, key, store, ...) and the SDK in SDK_PLACE.
import { createHash } from "node:crypto";
import { createRequire } from "node:module";

const { default: Anthropic } = createRequire(`${process.env.SDK_PLACE}/`)("@anthropic-ai/sdk");
const target = JSON.parse(process.env.TARGET);
const exchanges = [];
const sha = (text) => createHash("sha256").update(text, "utf8").digest("hex");

const recordingFetch = async (url, init) => {
  const response = await fetch(url, init);
  const answer = await response.clone().json();
  const address = new URL(url);
  const query = Object.fromEntries(address.searchParams);
  const body = init.body ? JSON.parse(init.body) : null;
  exchanges.push({ method: init.method.toUpperCase(), path: address.pathname, query, body, status: response.status, answer });
  return response;
};

const clientOf = (apiKey) =>
  new Anthropic({ baseURL: target.url, apiKey, fetch: recordingFetch, defaultHeaders: target.headers ?? {} });

const all = async (pages) => {
  const items = [];
  for await (const item of pages) items.push(item);
  return items;
};

/** The error that a call ends with, and how many requests it took. */
const refused = async (call) => {
  const before = exchanges.length;
  try {
    await call();
  } catch (error) {
    return {
      name: error.constructor.name,
      status: error.status,
      type: error.error?.error?.type,
      conflicting_path: error.error?.error?.conflicting_path,
      conflicting_memory_id: error.error?.error?.conflicting_memory_id,
      request_id: error.requestID,
      requests: exchanges.length - before,
    };
  }
  return { name: "none" };
};

/** Every method once, and what goes wrong in every way. */
async function methods() {
  const stores = clientOf(target.key).beta.memoryStores;
  const { memories, memoryVersions: versions } = stores;
  const told = {};
  const store = (told.created = await stores.create({ name: "TypeScript", metadata: { by: "ts" } }));
  told.retrieved = await stores.retrieve(store.id);
  told.updated = await stores.update(store.id, { description: "Driven", metadata: { by: null, on: "node" } });
  told.listed = await all(stores.list({ limit: 1, "created_at[gte]": store.created_at, include_archived: true }));
  const inStore = { memory_store_id: store.id };

  const memory = (told.memory = await memories.create(store.id, { path: "/a/b.md", content: "one\n", view: "full" }));
  await memories.create(store.id, { path: "/a/c/d.md", content: "" });
  told.read = await memories.retrieve(memory.id, inStore);
  told.edited = await memories.update(memory.id, {
    ...inStore,
    content: "grün\n",
    precondition: { type: "content_sha256", content_sha256: sha("one\n") },
  });
  told.renamed = await memories.update(memory.id, { ...inStore, path: "/a/e.md" });
  told.memories = await all(memories.list(store.id, { limit: 1 }));
  told.children = await all(memories.list(store.id, { depth: 1, path_prefix: "/a/", view: "full" }));

  const wrong = { type: "content_sha256", content_sha256: sha("another") };
  told.precondition = await refused(() => memories.update(memory.id, { ...inStore, content: "x", precondition: wrong }));
  told.conflict = await refused(() => memories.create(store.id, { path: "/a/e.md", content: "x" }));
  told.undeleted = await refused(() =>
    memories.delete(memory.id, { ...inStore, expected_content_sha256: sha("another") }));
  told.invalid = await refused(() => memories.create(store.id, { path: "a", content: "x" }));
  told.missing = await refused(() => memories.retrieve("mem_01ARZ3NDEKTSV4RRFFQ69G5FAV", inStore));
  told.nobody = await refused(() => clientOf("mh_wrong").beta.memoryStores.retrieve(store.id));
  told.forbidden = await refused(() => clientOf(target.read).beta.memoryStores.create({ name: "No" }));

  told.versions = await all(versions.list(store.id, { limit: 2, memory_id: memory.id, view: "full" }));
  const first = told.versions.at(-1);
  told.version = await versions.retrieve(first.id, inStore);
  told.redacted = await versions.redact(first.id, inStore);
  told.deleted = await memories.delete(memory.id, inStore);
  told.archived = await stores.archive(store.id);
  told.gone = await stores.delete(store.id);
  return told;
}

/** One of the doors at once: its own directory, and its line of the memory that all share. */
async function door() {
  const { memories } = clientOf(target.key).beta.memoryStores;
  const inStore = { memory_store_id: target.store };
  const own = await memories.create(target.store, { path: "/typescript/plan.md", content: "plan\n" });
  await memories.update(own.id, { ...inStore, content: "plan\nmore\n" });
  await memories.update(own.id, { ...inStore, path: "/typescript/done.md" });
  await refused(() => memories.create(target.store, { path: "/typescript/done.md", content: "again" }));
  for (let round = 0; round < target.rounds; round += 1) {
    for (let done = false; !done; ) {
      const shared = await memories.retrieve(target.shared, inStore);
      const content = shared.content.replace(`typescript ${round}\n`, `typescript ${round + 1}\n`);
      const precondition = { type: "content_sha256", content_sha256: shared.content_sha256 };
      done = (await refused(() => memories.update(target.shared, { ...inStore, content, precondition }))).name === "none";
    }
  }
  const last = await memories.create(target.store, { path: "/typescript/last.md", content: "last\n" });
  await memories.delete(last.id, { ...inStore, expected_content_sha256: last.content_sha256 });
  return exchanges;
}

console.log(JSON.stringify(await { methods, door }[process.argv[2]]()));
