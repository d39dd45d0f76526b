/** Stored objects and the encodings that they are shown in, for the tests of outputs. */

import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { decode } from 'cborg'
import { keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { CustomKind } from '../../../lib/codec/served/custom/custom.ts'
import { ObjectEncoder, type OutputForm } from '../../../lib/codec/output/object-encoder.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import type { OutputKind, StoredKind, CustomColumn } from '../../../lib/codec/output-kind.ts'
import type { Run } from '../../../lib/codec/output/segments.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { KeyValue, noLease } from '../../../lib/store/event.ts'
import { SlabWriter } from '../../../lib/store/slab.ts'

/** A day after everything was created. */
export const now: number = Date.parse('2026-01-02T00:00:00Z')
export const created = '2026-01-01T00:00:00Z'

/** The form in which a test shows objects, unless it says otherwise. */
export function shownAs(options: Partial<OutputForm> = {}): OutputForm {
  return {
    encoding: 'json',
    rendering: 'object',
    renderingVersion: 'v1',
    includeObject: 'Metadata',
    now,
    ...options,
  }
}

/** A built-in kind that is stored as it is served. */
export function builtIn(
  names: { readonly group?: string; readonly version?: string; readonly kind: string },
  storage: Partial<StoredKind> = {},
): OutputKind {
  const { group = '', version = 'v1', kind } = names
  return {
    schema: schemaOf(),
    group,
    version,
    kind,
    resource: `${kind.toLowerCase()}s`,
    listKind: `${kind}List`,
    storage: { group, version, kind, encoding: 'protobuf', conversion: 'same', ...storage },
  }
}

export const configMaps: OutputKind = builtIn({ kind: 'ConfigMap' })

/** Widgets of example.com/v1 with columns; undefined stands for a definition that declares none. */
export function widgetEncoder(columns?: readonly Partial<CustomColumn>[]): ObjectEncoder {
  const group = 'example.com'
  const kind: OutputKind = {
    ...builtIn({ group, kind: 'Widget' }, { encoding: 'json' }),
    custom: {
      definedAt: 5,
      columns: columns?.map(column => ({
        name: 'Column',
        type: 'string',
        format: '',
        description: '',
        priority: 0,
        jsonPath: '.spec',
        ...column,
      })),
    },
  }
  const custom = new CustomKind({
    group,
    kind: 'Widget',
    versions: [
      { name: 'v1', schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    ],
    preservesUnknownFields: false,
    conversion: 'none',
  })
  return new ObjectEncoder(kind, custom)
}

const slab = new SlabWriter()

/** A stored entry of bytes. */
export function entryOf(name: string, value: Uint8Array, at = 7): KeyValue {
  return new KeyValue(keyFromText(`/registry/things/${name}`), slab.copy(value), {
    createRevision: revision(1),
    modRevision: revision(at),
    version: 1,
    lease: noLease,
  })
}

/** A built-in object as it is stored. */
export function stored(object: object): Uint8Array {
  const value = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (value instanceof NotExact) throw new Error(value.reason)
  return value
}

/** A stored config map. */
export function configMap(name: string, rest: object = {}, at = 7): KeyValue {
  const metadata = { name, namespace: 'team', creationTimestamp: created }
  return entryOf(
    name,
    stored({ kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { a: 'b' }, ...rest }),
    at,
  )
}

/** A stored widget: JSON with sorted names and a line feed, as Go writes it. */
export function widget(name: string, spec: object = {}, at = 7): KeyValue {
  const metadata = { creationTimestamp: created, generation: 1, name, namespace: 'team' }
  const object = { apiVersion: 'example.com/v1', kind: 'Widget', metadata, spec }
  return entryOf(name, Buffer.from(`${JSON.stringify(object)}\n`), at)
}

/** Entries as the leaves of a tree, each of `length`. */
export function runsOf(entries: readonly KeyValue[], length = 2): Run[] {
  const runs: Run[] = []
  for (let from = 0; from < entries.length; from += length) {
    const leaf = entries.slice(from, from + length)
    runs.push({ entries: leaf, from: 0, to: leaf.length, leaf: {}, size: leaf.length })
  }
  return runs
}

/** The pieces that a generator yields, and the value that it returns. */
export function drained(pieces: Generator<Uint8Array, NotExact | undefined, undefined>): {
  readonly pieces: Uint8Array[]
  readonly text: string
  readonly bytes: Buffer
  readonly problem: string | undefined
} {
  const all: Uint8Array[] = []
  for (;;) {
    const next = pieces.next()
    if (next.done !== true) {
      all.push(next.value)
      continue
    }
    const bytes = Buffer.concat(all)
    return { pieces: all, bytes, text: bytes.toString(), problem: next.value?.reason }
  }
}

/** Bytes that must have been made. */
export function exact(made: Uint8Array | NotExact): Buffer {
  if (made instanceof NotExact) throw new Error(made.reason)
  return Buffer.from(made)
}

/** The contents of self-described CBOR, with byte strings as text. */
export function decodedCbor(bytes: Uint8Array): unknown {
  if (
    !Buffer.from(bytes)
      .subarray(0, 3)
      .equals(Buffer.of(0xd9, 0xd9, 0xf7))
  ) {
    throw new Error('CBOR does not say that it is CBOR')
  }
  const inner = (decodeInner: () => unknown): unknown => decodeInner()
  return asText(decode(bytes, { useMaps: true, tags: { 55799: inner, 22: inner } as never }))
}

/** Decoded CBOR with its byte strings as text. */
export function asText(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString()
  if (Array.isArray(value)) return value.map(asText)
  if (!(value instanceof Map)) return value
  return Object.fromEntries([...value].map(([name, member]) => [asText(name), asText(member)]))
}
