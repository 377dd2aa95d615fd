// What a consumer writes with the types that openapi-typescript generates, and with openapi-fetch:
// it reads all pages, reads one document, downloads, and gets errors.
//
// Run by a test with the address of a server and two keys; the plan of the second key's workspace
// lacks the API. It prints what it found as JSON.
import { createHash } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, operations, paths } from "./schema.d.ts";

type WorkspaceDocument = components["schemas"]["WorkspaceDocument"];
type Status = NonNullable<operations["list_documents"]["parameters"]["query"]>["status"];

const [baseUrl, key, unpaidKey] = process.argv.slice(2);

function connect(key: string | undefined) {
  return createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });
}

const client = connect(key);

/** What a request returned, which must have succeeded. */
function result<T>({ data, error }: { data?: T; error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

/** The status, code and body of an error; the request must have failed. */
function refused<E>({ error, response }: { error?: E; response: Response }) {
  if (error === undefined) throw new Error(`${response.url}: ${response.status}`);
  return [response.status, response.headers.get("Error-Code"), error];
}

/** Every document, page by page. */
async function readAll(limit: number, status?: Status): Promise<WorkspaceDocument[]> {
  const found: WorkspaceDocument[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit, status, cursor };
    const page = result(await client.GET("/api/v1/documents", { params: { query } }));
    found.push(...page.data);
    cursor = page.nextCursor ?? undefined;
  } while (cursor);
  return found;
}

/** Who still has to sign, and since when they have known of it. */
function waiting({ recipients }: WorkspaceDocument): [string, string | null][] {
  return recipients
    .filter(({ role, status }) => role === "SIGNER" && status !== "SIGNED")
    .map(({ email, sentAt }) => [email, sentAt]);
}

/** The bytes of a file; of a part of it, if `Range` is given. */
async function download(id: string, type?: "signed", Range?: string): Promise<Buffer> {
  const params = { path: { id }, query: { type }, header: { Range } };
  const path = "/api/v1/documents/{id}/download";
  return Buffer.from(result(await client.GET(path, { params, parseAs: "arrayBuffer" })));
}

const me = result(await client.GET("/api/v1/me"));
const all = await readAll(3);
const complete = (await readAll(1, "COMPLETED")).map(({ id }) => id);
const [id] = complete;
if (id === undefined) throw new Error("No document is complete.");
const type = "document.completed";
const events = result(await client.GET("/api/v1/events", { params: { query: { type } } }));
const after = events.nextCursor;
const later = result(await client.GET("/api/v1/events", { params: { query: { after, type } } }));
const path = { id: "00000000-0000-0000-0000-000000000000" };

console.log(
  JSON.stringify({
    me,
    ids: all.map(({ id }) => id),
    complete,
    waiting: Object.fromEntries(all.map((document) => [document.id, waiting(document)])),
    read: result(await client.GET("/api/v1/documents/{id}", { params: { path: { id } } })),
    sha256: createHash("sha256").update(await download(id, "signed")).digest("hex"),
    part: (await download(id, undefined, "bytes=0-4")).toString(),
    events: [events.data, later.data],
    none: refused(await client.GET("/api/v1/documents/{id}", { params: { path } })),
    stranger: refused(await connect("dtd_x").GET("/api/v1/me")),
    unpaid: refused(await connect(unpaidKey).GET("/api/v1/me")),
  }),
);
