/** Compiles the selectors of a list or watch: a function from a stored entry to yes, no, or
 *  `NotExact` if it cannot be told. */

import type { SelectableField, SelectableReader } from '../../codec/fields/selectable.ts'
import type { NotExact } from '../../codec/not-exact.ts'
import { type Key, textFromKey } from '../../base/keys.ts'
import type { KeyValue } from '../../store/event.ts'
import type { FieldSelector } from './field-selector.ts'
import { type LabelRequirement, type LabelSelector, meets } from './label-selector.ts'
import type { Resource } from '../resources/resource.ts'

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
}

/** The filter of a selection; undefined if it selects everything, so that nothing needs to be read.
 *  Name and namespace are taken from the key. Cost: at most one walk over an entry's value. */
export function compileFilter(selection: Selection, makeReader: MakeReader): Filter | undefined {
  const { resource, keyspace, labels, fields } = selection
  if (labels.isEmpty && fields.isEmpty) return undefined
  const fromKey: KeyTest[] = []
  const fromValue: {
    readonly field: SelectableField
    readonly value: string
    readonly isEqual: boolean
  }[] = []
  for (const { label, value, isEqual } of fields.requirements) {
    const test = keyTest(resource, keyspace, label)
    const field = resource.fields.find(known => known.label === label)
    if (test !== undefined) fromKey.push(entry => (test(entry) === value) === isEqual)
    else if (field !== undefined) fromValue.push({ field, value, isEqual })
  }
  const { requirements } = labels
  if (fromKey.length + fromValue.length + requirements.length === 0) return undefined
  const passesKey: KeyTest = entry => fromKey.every(test => test(entry))
  if (fromValue.length + requirements.length === 0) return passesKey
  const reader = makeReader(
    resource,
    fromValue.map(({ field }) => field),
    requirements.length > 0,
  )
  return entry => {
    if (!passesKey(entry)) return false
    const problem = reader.read(entry)
    if (problem !== undefined) return problem
    for (const { field, value, isEqual } of fromValue) {
      if ((reader.field(field) === value) !== isEqual) return false
    }
    return meetsAll(requirements, reader)
  }
}

type KeyTest = (entry: KeyValue) => boolean

function meetsAll(requirements: readonly LabelRequirement[], reader: SelectableReader): boolean {
  for (const requirement of requirements) {
    if (!meets(requirement, reader.label(requirement.key))) return false
  }
  return true
}

/** Reader of a field that the key has; undefined for others. Not every resource has the namespace
 *  as a field; a cluster-scoped resource that does has it empty. */
function keyTest(
  resource: Resource,
  keyspace: Key,
  label: string,
): ((entry: KeyValue) => string) | undefined {
  if (label === 'metadata.name') return entry => nameOfKey(entry.key)
  if (label !== 'metadata.namespace') return undefined
  if (!resource.isNamespaced) return () => ''
  return entry => namespaceOfKey(entry.key, keyspace)
}

/** The name that a key ends with. */
export function nameOfKey(key: Key): string {
  return textFromKey(key.slice(key.lastIndexOf('/') + 1) as Key)
}

/** The namespace between a keyspace's prefix and the name. */
export function namespaceOfKey(key: Key, keyspace: Key): string {
  const end = key.indexOf('/', keyspace.length)
  return end < 0 ? '' : textFromKey(key.slice(keyspace.length, end) as Key)
}
