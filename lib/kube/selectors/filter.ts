/** Compiles the selectors of a list or watch: a function from a stored entry to yes, no, or
 *  `NotExact` if it cannot be told. */

import type { SelectableField, SelectableReader } from '@watchglass/codec'
import { type Key, keyFromText, NotExact, textFromKey } from '@watchglass/base'
import type { KeyValue } from '@watchglass/store'
import type { FieldSelector } from './field-selector.ts'
import { type LabelRequirement, type LabelSelector, meets } from './label-selector.ts'
import { prefixOfNamespaces } from '../resources/keyspaces.ts'
import type { Resource } from '../resources/resource.ts'
import { type ShardHash, shardHash } from './shard-hash.ts'
import type { ShardSelector } from './shard-selector.ts'

/** Makes a reader for the objects of a resource that reads only those fields, and labels if they
 *  are needed. A reader may be shared: its results for an entry are used before it reads the next
 *  one. */
export type MakeReader = (
  resource: Resource,
  fields: readonly SelectableField[],
  needsLabels: boolean,
) => SelectableReader

/** Whether an entry is selected. A `NotExact` means that the read cannot be answered exactly. */
export type Filter = (entry: KeyValue) => boolean | NotExact

/** The selectors of a read: a plan is one. */
export interface Selection {
  readonly resource: Resource
  readonly keyspace: Key
  readonly labels: LabelSelector
  readonly fields: FieldSelector
  /** Undefined: objects of all shards are selected. */
  readonly shards?: ShardSelector | undefined
}

/** The uid, which most shards are made of. */
export const uidField: SelectableField = {
  label: 'metadata.uid',
  paths: ['metadata.uid'],
  fallback: '',
}

/** The filter of a selection; undefined if it selects everything, so that nothing needs to be read.
 *  Name and namespace are taken from the key. Cost: at most one walk over an entry's value. */
export function compileFilter(selection: Selection, makeReader: MakeReader): Filter | undefined {
  const { resource, labels, fields, shards } = selection
  if (labels.isEmpty && fields.isEmpty && shards === undefined) return undefined
  const fromKey: KeyTest[] = []
  const fromValue: {
    readonly field: SelectableField
    readonly value: string
    readonly isEqual: boolean
  }[] = []
  for (const { label, value, isEqual } of fields.requirements) {
    const test = keyTest(selection, label)
    const field = resource.fields.find(known => known.label === label)
    if (label === 'metadata.name' && !value.includes('/')) {
      // A watch that is behind asks this for each event of the keyspace: the name is not made.
      const end = `/${keyFromText(value)}`
      fromKey.push(({ key }) => key.endsWith(end) === isEqual)
    } else if (test !== undefined) fromKey.push(entry => (test(entry) === value) === isEqual)
    else if (field !== undefined) fromValue.push({ field, value, isEqual })
  }
  if (shards?.field === 'namespace') fromKey.push(namespaceTest(selection, shards))
  const ofUid = shards?.field === 'uid' ? shards : undefined
  const { requirements } = labels
  const values = fromValue.length + requirements.length
  const passesKey: KeyTest = entry => fromKey.every(test => test(entry))
  if (values === 0 && ofUid === undefined) return fromKey.length === 0 ? undefined : passesKey
  const read = fromValue.map(({ field }) => field)
  if (ofUid !== undefined) read.push(uidField)
  const reader = makeReader(resource, read, requirements.length > 0)
  return entry => {
    if (!passesKey(entry)) return false
    if (ofUid !== undefined) {
      const hash = uidHash(entry, reader)
      if (hash instanceof NotExact) return hash
      if (!ofUid.has(hash.high, hash.low)) return false
      if (values === 0) return true
    }
    const problem = reader.read(entry)
    if (problem !== undefined) return problem
    for (const { field, value, isEqual } of fromValue) {
      if ((reader.field(field) === value) !== isEqual) return false
    }
    return meetsAll(requirements, reader)
  }
}

let last:
  | (ShardHash & {
      readonly key: Key
      readonly modRevision: number
      readonly reader: SelectableReader
    })
  | undefined

/** The hash of an object's uid. The last one is kept: a change is looked up by it, and then tested
 *  for each watch, and to read an object takes longer than the rest. */
export function uidHash(entry: KeyValue, reader: SelectableReader): ShardHash | NotExact {
  const { key, modRevision } = entry
  const isLast = last?.modRevision === modRevision && last.key === key
  if (last !== undefined && isLast && last.reader === reader) return last
  const problem = reader.read(entry)
  if (problem !== undefined) return problem
  last = { ...shardHash(reader.field(uidField)), key, modRevision, reader }
  return last
}

type KeyTest = (entry: KeyValue) => boolean

/** Entries come in the order of keys, so one namespace is mostly asked for many times. */
function namespaceTest(selection: Selection, shards: ShardSelector): KeyTest {
  const prefix = prefixOfNamespaces(selection)
  let [last, isIn]: [string | undefined, boolean] = [undefined, false]
  return ({ key }) => {
    const namespace = selection.resource.isNamespaced ? namespaceOfKey(key, prefix) : ''
    if (namespace !== last) {
      const { high, low } = shardHash(namespace)
      last = namespace
      isIn = shards.has(high, low)
    }
    return isIn
  }
}

function meetsAll(requirements: readonly LabelRequirement[], reader: SelectableReader): boolean {
  for (const requirement of requirements) {
    if (!meets(requirement, reader.label(requirement.key))) return false
  }
  return true
}

/** Reader of a field that the key has; undefined for others. Not every resource has the namespace
 *  as a field; a cluster-scoped resource that does has it empty. */
function keyTest(selection: Selection, label: string): ((entry: KeyValue) => string) | undefined {
  if (label === 'metadata.name') return entry => nameOfKey(entry.key)
  if (label !== 'metadata.namespace') return undefined
  if (!selection.resource.isNamespaced) return () => ''
  const prefix = prefixOfNamespaces(selection)
  return entry => namespaceOfKey(entry.key, prefix)
}

/** The name that a key ends with. */
export function nameOfKey(key: Key): string {
  return textFromKey(key.slice(key.lastIndexOf('/') + 1) as Key)
}

/** The namespace between a resource's prefix and the name. */
export function namespaceOfKey(key: Key, prefix: Key): string {
  const end = key.indexOf('/', prefix.length)
  return end < 0 ? '' : textFromKey(key.slice(prefix.length, end) as Key)
}
