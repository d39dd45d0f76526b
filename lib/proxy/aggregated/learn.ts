/** Learns how a server writes a resource in one version, from a few small requests: a page of the
 *  list, which is also the storage check; an empty list; one object as a Table and as YAML; a
 *  bookmark; and a list that shows whether there is a watch cache. The result decides how answers
 *  are written. Evidence decides for each object whether it may be served. */

import {
  ByteWriter,
  keyFromText,
  NotExact,
  objectOf,
  prefixRange,
  revision as revisionOf,
  textOf,
} from '@watchglass/base'
import { CustomKind } from '@watchglass/codec'
import { LearnedKind } from './learned-kind.ts'
import { groupVersionText } from '@watchglass/kube'
import type { KeyValue, Snapshot } from '@watchglass/store'
import { learnForms } from './learn-forms.ts'
import type { Learning, Learnt } from './learning.ts'
import { type ListPage, parsed } from './list-page.ts'
import { pathOf, pageOf } from './questions.ts'

/** At most this many objects are compared. */
const pageSize = 50

/** Fails when the server, or the mirror, does not answer. */
export async function learn(learning: Learning): Promise<Learnt> {
  const { upstream, resource, at, signal } = learning
  const path = `${pathOf(resource)}?limit=${pageSize}`
  const { page, headers } = await pageOf(upstream, { path, signal })
  const warnings = warningTexts(headers['warning'])
  if (warnings === undefined) return oddly('its Warning header is in a form that is not known here')
  const type = String(headers['content-type'])
  if (type !== 'application/json') return oddly(`its lists are of the media type "${type}"`)
  const snapshot = await at(revisionOf(Number(page.resourceVersion)))
  const difference = storageDifference(resource, page, snapshot)
  if (difference !== undefined) return { type: 'differs', what: difference }
  if (page.items.length === 0) return { type: 'empty' }
  const hasTypedItems = textOf(objectOf(parsed(page.items[0]))['kind']) !== ''
  const same = sameObjects({ ...learning, hasTypedItems }, page, snapshot)
  const conversion = conversionProblem(resource, same.length, page.items.length)
  if (conversion !== undefined) return conversion
  if (!page.isTyped) {
    return {
      type: 'learnt',
      listKind: page.kind,
      warnings,
      isWatchCached: true,
      learned: undefined,
      isWhole: true,
    }
  }
  const forms = await learnForms({ ...learning, snapshot, examples: same, hasTypedItems })
  return { type: 'learnt', listKind: page.kind, warnings, ...forms }
}

/** The texts of the Warning headers that a server sends with every answer of a deprecated version;
 *  undefined if they are in a form that we cannot write. */
function warningTexts(
  header: string | readonly string[] | undefined,
): readonly string[] | undefined {
  const lines = header === undefined ? [] : typeof header === 'string' ? [header] : header
  const texts: string[] = []
  for (const line of lines) {
    let rest = line
    while (rest !== '') {
      const match = /^299 - ("(?:[^"\\]|\\["\\])*")(?:, )?/.exec(rest)
      if (match === null) return undefined
      texts.push(JSON.parse(match[1] as string) as string)
      rest = rest.slice(match[0].length)
    }
  }
  return texts
}

function oddly(why: string): Learnt {
  return { type: 'passes', reason: 'stored-form', why }
}

/** The difference between the server's page and the mirror; undefined if they have the same objects
 *  at the same revisions. */
function storageDifference(
  { storage }: Learning['resource'],
  page: ListPage,
  snapshot: Snapshot,
): string | undefined {
  const held = snapshot.count(prefixRange(keyFromText(storage.prefix)))
  if (held !== page.count) {
    return `the server lists ${page.count} objects, and etcd has ${held} under ${storage.prefix}`
  }
  for (const item of page.items) {
    const { namespace, name, resourceVersion } = nameIn(item)
    const entry = snapshot.get(keyOf(storage.prefix, namespace, name))
    if (entry === undefined) return `etcd has no ${storage.prefix}… of an object that is listed`
    if (String(entry.modRevision) !== resourceVersion) {
      return `an object has resourceVersion ${resourceVersion}, and its entry in etcd is of revision ${entry.modRevision}`
    }
  }
  return undefined
}

/** The objects that the server writes in the same bytes as we do. */
function sameObjects(
  { resource, hasTypedItems }: Learning & { readonly hasTypedItems: boolean },
  page: ListPage,
  snapshot: Snapshot,
): KeyValue[] {
  const { storage } = resource
  const append = page.isTyped ? typedWriter(resource, hasTypedItems) : untypedWriter(resource)
  const out = new ByteWriter()
  return page.items.flatMap(item => {
    const { namespace, name, resourceVersion } = nameIn(item)
    const entry = snapshot.get(keyOf(storage.prefix, namespace, name))
    if (entry === undefined) return []
    out.clear()
    const problem = append(out, entry, resourceVersion)
    if (problem instanceof NotExact) return []
    const ours = out.bytes.subarray(0, out.length)
    const theirs = item.bytes.subarray(item.start, item.end)
    return Buffer.compare(ours, theirs) === 0 ? [entry] : []
  })
}

type AppendItem = (
  out: ByteWriter,
  entry: KeyValue,
  resourceVersion: string,
) => NotExact | undefined

function typedWriter(
  { storage, kind, group, version }: Learning['resource'],
  hasTypedItems: boolean,
): AppendItem {
  const learned = new LearnedKind({
    apiVersion: groupVersionText(group, version),
    storedApiVersion: groupVersionText(storage.group, storage.version),
    kind,
    hasTypedItems,
  })
  return (out, entry, resourceVersion) =>
    learned.append(out, entry, { resourceVersion, isItem: true })
}

function untypedWriter({ storage, kind, group, version }: Learning['resource']): AppendItem {
  const names = new Set([version, storage.version])
  const custom = new CustomKind({
    group,
    kind,
    versions: [...names].map(name => ({ name, schema: undefined })),
    preservesUnknownFields: true,
    conversion: 'none',
  })
  return (out, entry, resourceVersion) => custom.append(out, entry, { version, resourceVersion })
}

/** Single objects may be served in another way than they are stored: another program, or an older
 *  server, may have written them, or another version than the stored one may have other fields.
 *  Evidence finds out which they are, by their rows. */
function conversionProblem(
  { version, storage }: Learning['resource'],
  same: number,
  compared: number,
): Learnt | undefined {
  if (same > 0) return undefined
  if (version !== storage.version) {
    const why = `objects are stored as ${storage.version}, and all ${compared} that were compared need a conversion to ${version}`
    return { type: 'passes', reason: 'conversion', why }
  }
  return oddly(`none of ${compared} objects is served as it is stored`)
}

function nameIn(item: Parameters<typeof parsed>[0]): {
  namespace: string
  name: string
  resourceVersion: string
} {
  const metadata = objectOf(objectOf(parsed(item))['metadata'])
  return {
    namespace: textOf(metadata['namespace']),
    name: textOf(metadata['name']),
    resourceVersion: textOf(metadata['resourceVersion']),
  }
}

function keyOf(prefix: string, namespace: string, name: string): ReturnType<typeof keyFromText> {
  return keyFromText(`${prefix}${namespace === '' ? '' : `${namespace}/`}${name}`)
}
