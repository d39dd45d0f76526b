/** Chooses the secondary index that answers a selection, and says how such an index is filled.
 *
 *  An index on a label or a field answers requirements of equality. Entries that cannot be read are
 *  found under every term, so that an index hides them no more than a scan does. */

import type { SelectableField } from '@watchglass/codec'
import type { KeyRange } from '@watchglass/base'
import type { IndexSnapshot, KeyValue, Snapshot, TermsOf } from '@watchglass/store'
import { type FieldRequirement, FieldSelector } from './field-selector.ts'
import type { MakeReader, Selection } from './filter.ts'
import { type LabelRequirement, LabelSelector } from './label-selector.ts'
import { groupVersionText, type Resource } from '../resources/resource.ts'

/** One requirement in terms of an index. */
export interface IndexUse {
  /** `label:app` or `field:v1:spec.nodeName`: what a field is depends on the version, what a label
   *  is does not. */
  readonly name: string
  /** An entry meets the requirement if, and only if, it has one of these terms. */
  readonly terms: readonly string[]
  readonly requirement: FieldRequirement | LabelRequirement
}

/** The term of entries that cannot be read. No value of a label or field begins with a zero
 *  byte. */
const unreadableTerm = '\0unreadable'

/** The terms that concern a watch: those of a use, and that of entries that cannot be read. */
export function watchedTerms({ terms }: IndexUse): readonly string[] {
  return [...terms, unreadableTerm]
}

/** More alternatives than this are not worth merging. */
const termsMax = 32

/** The indexes that could help. The caller builds one when it is wanted a second time. Names and
 *  namespaces need no index: keys are in that order. */
export function indexUses({ resource, labels, fields }: Selection): IndexUse[] {
  const uses: IndexUse[] = []
  for (const requirement of fields.requirements) {
    const { label, value, isEqual } = requirement
    if (!isEqual || value === '' || label.startsWith('metadata.')) continue
    if (resource.fields.some(field => field.label === label && field.paths.length > 0)) {
      uses.push({ name: fieldPrefix(resource) + label, terms: [value], requirement })
    }
  }
  for (const requirement of labels.requirements) {
    const { key, operator, values } = requirement
    if (operator !== 'in' || values.size > termsMax) continue
    uses.push({ name: labelPrefix + key, terms: [...values], requirement })
  }
  return uses
}

/** Terms with which the index of that name is filled for a resource; undefined if there is no such
 *  index. */
export function indexTerms(
  name: string,
  resource: Resource,
  makeReader: MakeReader,
): TermsOf | undefined {
  if (name.startsWith(labelPrefix)) {
    return labelTerms(name.slice(labelPrefix.length), resource, makeReader)
  }
  const prefix = fieldPrefix(resource)
  const field = resource.fields.find(({ label }) => name === prefix + label)
  return field === undefined ? undefined : fieldTerms(field, resource, makeReader)
}

const labelPrefix = 'label:'

function fieldPrefix({ group, version }: Resource): string {
  return `field:${groupVersionText(group, version)}:`
}

function labelTerms(key: string, resource: Resource, makeReader: MakeReader): TermsOf {
  const reader = makeReader(resource, [], true)
  return entry => {
    if (reader.read(entry) !== undefined) return [unreadableTerm]
    const value = reader.label(key)
    return value === undefined ? [] : [value]
  }
}

function fieldTerms(field: SelectableField, resource: Resource, makeReader: MakeReader): TermsOf {
  const reader = makeReader(resource, [field], false)
  return entry => {
    if (reader.read(entry) !== undefined) return [unreadableTerm]
    const value = reader.field(field)
    return value === '' ? [] : [value]
  }
}

/** The entries of a range that an index returns. */
export interface Candidates {
  /** In the order of keys. */
  readonly entries: Iterable<KeyValue>
  /** The requirements that are left to check: those that the index has answered are left out,
   *  unless some entries cannot be read. */
  readonly rest: Selection
}

/** The entries of a range that may be selected, from the index that returns the fewest. Undefined
 *  if no index helps: the caller then scans the range. */
export function candidates(
  snapshot: Snapshot,
  range: KeyRange,
  selection: Selection,
): Candidates | undefined {
  const best = bestIndex(snapshot, range, selection)
  if (best === undefined) return undefined
  const { view, use, count } = best
  const isReadable = view.count(unreadableTerm, range) === 0
  const [term, ...others] = use.terms
  const isSmall = isReadable && others.length === 0 && term !== undefined && count <= atOnceMax
  return {
    entries: isSmall ? view.range(term, range) : mergeTerms(view, watchedTerms(use), range),
    rest: isReadable ? without(selection, use.requirement) : selection,
  }
}

/** The number of entries that have to be looked at to answer a selection. O(log n). */
export function entriesToLookAt(snapshot: Snapshot, range: KeyRange, selection: Selection): number {
  return bestIndex(snapshot, range, selection)?.count ?? snapshot.count(range)
}

interface BestIndex {
  readonly view: IndexSnapshot
  readonly use: IndexUse
  readonly count: number
}

function bestIndex(
  snapshot: Snapshot,
  range: KeyRange,
  selection: Selection,
): BestIndex | undefined {
  let best: BestIndex | undefined
  let fewest = snapshot.count(range) / 2
  for (const use of indexUses(selection)) {
    const view = snapshot.index(use.name)
    if (view === undefined) continue
    const count = watchedTerms(use).reduce((sum, term) => sum + view.count(term, range), 0)
    if (count >= fewest) continue
    fewest = count
    best = { view, use, count }
  }
  return best
}

/** This many entries are looked up in well below a millisecond. */
const atOnceMax = 500

function without(selection: Selection, answered: IndexUse['requirement']): Selection {
  const { resource, keyspace, labels, fields, shards } = selection
  return {
    resource,
    keyspace,
    shards,
    labels: new LabelSelector(labels.requirements.filter(one => one !== answered)),
    fields: new FieldSelector(fields.requirements.filter(one => one !== answered)),
  }
}

/** The entries of several terms, each once, in the order of keys. An entry of a single-valued index
 *  has one term, so no entry comes twice. */
function* mergeTerms(
  view: IndexSnapshot,
  terms: readonly string[],
  range: KeyRange,
): Generator<KeyValue, void, undefined> {
  const heads: { entry: KeyValue; readonly rest: Iterator<KeyValue> }[] = []
  for (const term of terms) {
    const rest = view.iterate(term, range)[Symbol.iterator]()
    const first = rest.next()
    if (first.done !== true) heads.push({ entry: first.value, rest })
  }
  while (heads.length > 0) {
    let least = 0
    for (let i = 1; i < heads.length; i++) {
      if (heads[i]!.entry.key < heads[least]!.entry.key) least = i
    }
    const head = heads[least]!
    yield head.entry
    const next = head.rest.next()
    if (next.done === true) heads.splice(least, 1)
    else head.entry = next.value
  }
}
