/** Writes of odd objects through the whole of lib/writes: whatever a client sends is stored
 *  and can be read in every form, or is refused as the client's fault. */

import { encode } from 'cborg'
import { stringify } from 'yaml'
import { createRandom, type Random, randomItem } from '../../../lib/base/random.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { textFromTree } from '../../../lib/go/json/tree.ts'
import { jsonFromCbor } from '../../../lib/writes/decode/cbor-body.ts'
import { DecodeError } from '../../../lib/writes/decode/typed-decoder.ts'
import { runWrite } from '../../../lib/writes/operations/run-write.ts'
import type { WriteSession } from '../../../lib/writes/operations/session.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import { NotExactlyError, StatusError } from '../../../lib/kube/status.ts'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import { type Asking, MemoryStore, namespaceKey, writesOver } from '../kube/writes/memory-store.ts'
import { shownAs } from '../kube/outputs.ts'
import type { FuzzOptions } from './fuzz.ts'
import { createGrammar } from './grammar.ts'
import { named, oddObject, type Recorded, recordedObjects } from './odd-objects.ts'

export interface WritesReport {
  readonly sent: number
  readonly stored: number
  readonly findings: readonly string[]
}

export async function fuzzWrites({ requests, seed }: FuzzOptions): Promise<WritesReport> {
  const all = recordedObjects()
  // Most of the recorded objects were refused, and what is absent can not be changed.
  const accepted = all.filter(({ status }) => status < 300)
  const findings: string[] = []
  let stored = 0
  let sent = 0
  for (; sent < requests; sent++) {
    const number = seed + sent
    const random = createRandom(number)
    const base = randomItem(random, random.next() < 0.5 ? accepted : all)
    const problem = await oddWrites(random, base)
    if (typeof problem === 'string') findings.push(`seed ${number}: ${problem}`)
    else stored += problem
  }
  return { sent, stored, findings }
}

/** Creates the object as it is and an odd one beside it, and changes the first in two of the ways
 *  that there are; how often an odd one was stored, or what went wrong. */
async function oddWrites(random: Random, base: Recorded): Promise<number | string> {
  const store = new MemoryStore()
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns' } }
  store.put(namespaceKey, protobufFromJson(Buffer.from(JSON.stringify(namespace))) as Uint8Array)
  const open = writesOver(store, random)
  const asking = askingOf(base.path)
  const verbs = ['create', ...changes.slice(Math.floor(random.next() * changes.length)).slice(0, 2)]
  const asItIs = JSON.stringify(named(base, 'a'))
  const writes = [{ verb: 'create', json: asItIs, sent: asJson('create', asItIs) }]
  for (const verb of verbs) {
    const json = oddObject(random, base, verb === 'create' ? 'b' : 'a')
    const sent = verb === 'create' || verb === 'update' ? sentAs(random, json) : asJson(verb, json)
    writes.push({ verb, json, sent })
  }
  let stored = 0
  for (const { verb, json, sent } of writes) {
    try {
      const written = await oddWrite(open, asking, { verb, ...sent })
      if (json !== asItIs) stored += written
    } catch (error) {
      // CBOR is read before the write begins. Upstream answers some mistakes of clients with 500,
      // in words of its own.
      if (error instanceof DecodeError) continue
      if (error instanceof StatusError && !(error instanceof NotExactlyError)) continue
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
      return `${verb} of ${base.path} as ${sent.contentType}: ${what}\n${json.slice(0, 2000)}`
    }
  }
  return stored
}

const patchTypes: Readonly<Record<string, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
}
const changes = ['update', ...Object.keys(patchTypes)]

interface Sent {
  readonly contentType: string
  readonly body: () => Uint8Array
}

function asJson(verb: string, json: string): Sent {
  return { contentType: patchTypes[verb] ?? 'application/json', body: () => Buffer.from(json) }
}

/** The object in one of the forms that clients write, in some cases with bytes changed. */
function sentAs(random: Random, json: string): Sent {
  const grammar = createGrammar(random)
  const form = ['json', 'json', 'yaml', 'cbor', 'protobuf'][Math.floor(random.next() * 5)]
  if (form === 'yaml') {
    const body = grammar.changed(Buffer.from(stringify(JSON.parse(json) as object)))
    return { contentType: 'application/yaml', body: () => body }
  }
  if (form === 'cbor') {
    const bytes = grammar.changed(Buffer.from(encode(JSON.parse(json) as object)))
    return { contentType: 'application/json', body: () => jsonFromCbor(bytes) }
  }
  const protobuf = form === 'protobuf' ? protobufFromJson(Buffer.from(json)) : undefined
  if (protobuf instanceof Uint8Array) {
    const body = grammar.changed(Buffer.from(protobuf))
    return { contentType: 'application/vnd.kubernetes.protobuf', body: () => body }
  }
  return asJson('create', json)
}

type Open = (asking: Asking) => WriteSession

async function oddWrite(
  open: Open,
  asking: Asking,
  { verb, contentType, body }: Sent & { readonly verb: string },
): Promise<number> {
  const name = verb === 'create' ? '' : 'a'
  const session = open({ ...asking, name })
  const { query } = parseTarget(verb === 'apply' ? '/x?fieldManager=f&force=true' : '/x')!
  const written = await runWrite(session, {
    verb: verb === 'create' || verb === 'update' ? verb : 'patch',
    query,
    contentType,
    readBody: async () => body(),
  })
  if (written.type !== 'object') return 0
  const shown = textFromTree(session.treeOf(written.entry))
  for (const rendering of ['object', 'Table', 'PartialObjectMetadata'] as const) {
    const out = new ByteWriter()
    const options = { form: shownAs({ rendering }), revision: 5, place: 'alone' } as const
    const problem = session.encoder.append(out, written.entry, options)
    if (problem instanceof NotExact) {
      throw new Error(`${rendering}: ${problem.reason} of ${shown.slice(0, 2000)}`)
    }
  }
  return 1
}

/** `/api/v1/namespaces/t/pods` or `/apis/apps/v1/...`; the namespace is that of the store. */
function askingOf(path: string): Asking {
  const parts = path.split('/').slice(2)
  const group = path.startsWith('/api/') ? '' : parts.shift()!
  const [version = ''] = parts
  return { group, version, resource: parts.at(-1)! }
}
