/** Reproduces every object in every recorded body of a get or list from the bytes that etcd held,
 *  byte for byte. */

import t from 'tap'
import { keyFromText, textFromKey } from '../../lib/base/keys.ts'
import { ByteWriter } from '../../lib/base/bytes/byte-writer.ts'
import { customKindOf } from '../../lib/codec/served/custom/custom-definition.ts'
import type { CustomKind } from '../../lib/codec/served/custom/custom.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import {
  type ViewedKind,
  appendObject,
  appendObjectProtobuf,
} from '../../lib/codec/served/object-view.ts'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import { type RecordedObject, objectsOfJson, objectsOfProtobuf } from './bodies.ts'
import { bodyBytes, entriesAt, entryAt, exchanges } from './load.ts'

interface Tally {
  equal: number
  different: number
  notCovered: number
}

/** Objects whose recorded bytes we do not reproduce, and why that is right. Empty: there are
 *  none. */
const exceptions: readonly { readonly kind: string; readonly reason: string }[] = []

const definitionsPrefix = '/registry/apiextensions.k8s.io/customresourcedefinitions/'
const customKinds = new Map<string, CustomKind>()
const out = new ByteWriter()
const reasons = new Map<string, number>()

for (const encoding of ['JSON', 'protobuf'] as const) {
  t.test(`every object in a recorded ${encoding} body is reproduced from etcd's bytes`, async t => {
    const tallies = new Map<string, Tally>()
    for (const { response, request, at_revision: at, id } of exchanges()) {
      if (request.method !== 'GET' || response.status !== 200) continue
      // A Scale is computed, not stored.
      if (request.path.endsWith('/scale')) continue
      const objects = recordedObjects(bodyBytes(response), contentType(response.headers), encoding)
      for (const object of objects) {
        const name = `${object.apiVersion} ${object.kind}`
        const tally = tallies.get(name) ?? { equal: 0, different: 0, notCovered: 0 }
        tallies.set(name, tally)
        const viewed = view(object, at, encoding)
        if (typeof viewed === 'string') {
          tally.notCovered++
          const key = `${name}: ${viewed}`
          reasons.set(key, (reasons.get(key) ?? 0) + 1)
        } else if (viewed.equals(object.bytes)) {
          tally.equal++
        } else {
          tally.different++
          if (exceptions.every(({ kind }) => kind !== name)) {
            t.equal(
              viewed.toString('latin1'),
              object.bytes.toString('latin1'),
              `${id} ${name} ${object.namespace}/${object.name} at ${object.resourceVersion}`,
            )
          }
        }
      }
    }
    t.comment(reportLines(tallies))
    t.ok(tallies.size > 5)
  })
}

t.test('nothing that was recorded is beyond us, but what is computed and never stored', async t => {
  t.same(Object.fromEntries(reasons), { 'v1 ComponentStatus: unknown kind': 1 })
})

function contentType(headers: Readonly<Record<string, string | readonly string[]>>): string {
  return String(headers['content-type'])
}

function recordedObjects(
  body: Buffer,
  type: string,
  encoding: 'JSON' | 'protobuf',
): readonly RecordedObject[] {
  if (encoding === 'protobuf') {
    return type.startsWith('application/vnd.kubernetes.protobuf') ? objectsOfProtobuf(body) : []
  }
  const text = body.toString()
  // Indented bodies are made from compact ones; what begins with a type is a watch.
  const isCompact = type === 'application/json' && /^\{"(?!type)/.test(text)
  return isCompact ? objectsOfJson(text) : []
}

/** Our view of the stored object, or the reason why there is none. */
function view(object: RecordedObject, at: number, encoding: 'JSON' | 'protobuf'): Buffer | string {
  const { apiVersion, kind, namespace, name, resourceVersion, isItem } = object
  const found = findKind(apiVersion, kind, at)
  if (found === undefined) return 'unknown kind'
  const key = `${found.prefix}${namespace === '' ? '' : `${namespace}/`}${name}`
  const entry = entryAt(key, Number(resourceVersion))
  if (entry === undefined) return 'not in the history'
  out.clear()
  const append = encoding === 'JSON' ? appendObject : appendObjectProtobuf
  const problem = append(out, entry, found.kind, { resourceVersion, isItem })
  return problem instanceof NotExact ? problem.reason : Buffer.from(out.copy())
}

interface FoundKind {
  readonly prefix: string
  readonly kind: ViewedKind
}

function findKind(apiVersion: string, kind: string, at: number): FoundKind | undefined {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  for (const row of schemaOf().resources) {
    if (row.storage === null || row.group !== group || row.version !== version) continue
    if (row.kind !== kind) continue
    return {
      prefix: row.storage.prefix,
      kind: { schema: schemaOf(), apiVersion, kind, custom: undefined },
    }
  }
  return definitions(at)
    .find(found => found.kind.kind === kind && found.group === group)
    ?.of(version)
}

interface Definition {
  readonly group: string
  readonly kind: ViewedKind
  of(version: string): FoundKind
}

/** The definitions that were in etcd. They did not change while objects of theirs were recorded. */
function definitions(at: number): Definition[] {
  const found: Definition[] = []
  for (const [key, entry] of entriesAt(at)) {
    if (!key.startsWith(keyFromText(definitionsPrefix))) continue
    const id = `${textFromKey(key)}@${entry.modRevision}`
    const custom = customKinds.get(id) ?? customKindOf(entry)
    if (custom instanceof NotExact) throw new Error(custom.reason)
    customKinds.set(id, custom)
    const { spec } = JSON.parse(Buffer.from(entry.value).toString()) as {
      spec: { group: string; names: { kind: string; plural: string } }
    }
    const { group, names } = spec
    found.push({
      group,
      kind: { schema: schemaOf(), apiVersion: '', kind: names.kind, custom },
      of: version => ({
        prefix: `/registry/${group}/${names.plural}/`,
        kind: { schema: schemaOf(), apiVersion: `${group}/${version}`, kind: names.kind, custom },
      }),
    })
  }
  return found
}

function reportLines(tallies: ReadonlyMap<string, Tally>): string {
  return [...tallies]
    .map(([name, { equal, different, notCovered }]) => {
      return `${name}: ${equal} equal, ${different} different, ${notCovered} not covered`
    })
    .sort((a, b) => (a < b ? -1 : 1))
    .join('\n')
}
