/** Which secondary indexes can answer a selection, and how such an index is filled.
 *
 *  An index on a label or a field answers requirements of equality. Entries that cannot be read are found under every term, so that
 *  an index hides them no more than a scan does. */

import type { KeyRange } from '../base/keys.ts'
import type { KeyValue } from '../store/event.ts'
import type { IndexView } from '../store/index-view.ts'
import type { TermsOf } from '../store/index.ts'
import type { Snapshot } from '../store/snapshot.ts'
import type { MakeReader, Selection } from './filter.ts'
import { type FieldLabel, groupVersionText, type Resource } from './resource.ts'

/** One requirement in terms of an index. */
export interface IndexUse {
  /** `label:app` or `field:v1:spec.nodeName`: what a field is depends on the version, what a label is does not. */
  readonly name: string
  /** An entry that is selected has one of them. */
  readonly terms: readonly string[]
}

/** What entries are found by that cannot be read. No value of a label or field begins with a zero. */
const unreadableTerm = '\0unreadable'

/** What a watch has to look out for: the terms of a use, and whatever cannot be read. */
export function watchedTerms({ terms }: IndexUse): readonly string[] {
  return [...terms, unreadableTerm]
}

/** More alternatives than this are not worth merging. */
const termsMax = 32

/** The indexes that could help; the caller has them built when they are asked for again. Names and namespaces need none: the keys
 *  are in that order. */
export function indexUses({ resource, labels, fields }: Selection): IndexUse[] {
  const uses: IndexUse[] = []
  for (const { label, value, isEqual } of fields.requirements) {
    if (!isEqual || value === '' || label.startsWith('metadata.')) continue
    if (resource.fields.some(field => field.label === label && field.paths.length > 0)) {
      uses.push({ name: fieldPrefix(resource) + label, terms: [value] })
    }
  }
  for (const { key, operator, values } of labels.requirements) {
    if (operator !== 'in' || values.size > termsMax) continue
    uses.push({ name: labelPrefix + key, terms: [...values] })
  }
  return uses
}

/** How the index of that name is filled for a resource; undefined if it is no name of one. */
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

function fieldTerms(field: FieldLabel, resource: Resource, makeReader: MakeReader): TermsOf {
  const reader = makeReader(resource, [field], false)
  return entry => {
    if (reader.read(entry) !== undefined) return [unreadableTerm]
    const value = reader.field(field)
    return value === '' ? [] : [value]
  }
}

/** The entries that a selection could hold in a range, by the index that leaves the fewest; undefined if no index helps: the caller
 *  scans then. */
export function candidates(
  snapshot: Snapshot,
  range: KeyRange,
  uses: readonly IndexUse[],
): Iterable<KeyValue> | undefined {
  let best: { readonly view: IndexView; readonly terms: readonly string[] } | undefined
  let fewest = snapshot.count(range) / 2
  for (const use of uses) {
    const view = snapshot.index(use.name)
    if (view === undefined) continue
    const terms = watchedTerms(use)
    const count = terms.reduce((sum, term) => sum + view.count(term, range), 0)
    if (count >= fewest) continue
    fewest = count
    best = { view, terms }
  }
  return best === undefined ? undefined : mergeTerms(best.view, best.terms, range)
}

/** The entries of several terms, each once, in the order of keys. An entry of a single-valued index has one term, so no entry comes
 *  twice. */
function* mergeTerms(
  view: IndexView,
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
