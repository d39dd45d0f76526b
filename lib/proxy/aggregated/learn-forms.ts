/** Learns how a server writes empty lists, Tables, YAML and bookmarks, and whether it has a watch
 *  cache, which its treatment of a limit shows. What cannot be learnt stays unknown, and reads that
 *  need it pass. What the server merely has no answer to now stays as it was learnt before. */

import { ByteWriter, keyFromText, NotExact, prefixRange, textFromKey } from '@watchglass/base'
import {
  type EmptyObject,
  type LearnedOutput,
  type LearnedTable,
  ObjectEncoder,
  type OutputForm,
} from '@watchglass/codec'
import { learnedOutput } from './learned-kind.ts'
import type { KeyValue, Snapshot } from '@watchglass/store'
import { ask } from '../upstream/ask.ts'
import { isOutage, isOutageCode, UnexpectedAnswer } from '../upstream/failure.ts'
import type { Learning, Learnt } from './learning.ts'
import { type ListPage, listPage, textIn } from './list-page.ts'
import { metadataOnly, objectPath, pageOf, pathOf, tableOnly } from './questions.ts'

export interface FormsLearning extends Learning {
  readonly snapshot: Snapshot
  /** Objects that are served as they are stored. */
  readonly examples: readonly KeyValue[]
  readonly hasTypedItems: boolean
}

/** A field selector that selects no object. */
const nobody = 'metadata.name%3Dwatchglass--no-such-object'
/** A server may ignore the limit of the list that probes for a watch cache, so the range must be
 *  small. */
const cacheProbeMax = 200

export async function learnForms(
  learning: FormsLearning,
): Promise<Pick<Learnt & { type: 'learnt' }, 'learned' | 'isWatchCached' | 'isWhole'>> {
  const { resource, hasTypedItems } = learning
  const before = resource.learned.generation > 0 ? resource.learned : undefined
  const cachedBefore = before?.isWatchCacheKnown === true ? resource.isWatchCached : undefined
  let isWhole = true
  const learnt = async <T>(asked: Promise<T>, known: T): Promise<T> => {
    try {
      return await asked
    } catch (error) {
      if (!isOutage(error)) throw error
      isWhole = false
      return known
    }
  }
  const [emptyItems, emptyRows, emptyMetadata, table, isYaml, emptyObject, isWatchCached] =
    await Promise.all([
      learnt(emptyList(learning, undefined), before?.emptyItems),
      learnt(emptyList(learning, tableOnly), before?.emptyRows),
      learnt(emptyList(learning, metadataOnly), before?.emptyMetadata),
      learnt(tableOf(learning), before?.table),
      learnt(isYamlOurs(learning), before?.isYaml ?? false),
      learnt(bookmarkOf(learning), before?.emptyObject),
      learnt(hasWatchCache(learning), cachedBefore),
    ])
  const learned = learnedOutput({
    generation: resource.learned.generation + 1,
    hasTypedItems,
    emptyItems,
    emptyRows,
    emptyMetadata,
    table: emptyRows === undefined ? undefined : table,
    isYaml,
    emptyObject,
    isWatchCacheKnown: isWatchCached !== undefined,
  })
  return { learned, isWatchCached: isWatchCached ?? true, isWhole }
}

async function emptyList(
  learning: FormsLearning,
  accept: string | undefined,
): Promise<'[]' | 'null' | undefined> {
  const path = `${pathOf(learning.resource)}?limit=1&fieldSelector=${nobody}`
  return (await pageIfAny(learning, path, accept))?.emptyList
}

/** Undefined if the server answers with anything but a list. */
async function pageIfAny(
  { upstream, signal }: FormsLearning,
  path: string,
  accept?: string,
): Promise<ListPage | undefined> {
  try {
    return (await pageOf(upstream, { path, accept, signal })).page
  } catch (error) {
    if (isOutage(error) || signal.aborted) throw error
    return undefined
  }
}

/** Undefined if the server's Table differs from ours. */
async function tableOf(learning: FormsLearning): Promise<LearnedTable | undefined> {
  const { resource, clock } = learning
  const table = resource.learned.table ?? { columns: undefined }
  const encoder = encoderWith(learning, { table })
  let columnsJson: string | undefined
  for (const entry of learning.examples.slice(0, 3)) {
    const fromMs = clock.wallMs()
    const answer = await objectAs(learning, entry, tableOnly)
    const page = answer && listPage('the Table', answer)
    if (page?.items[0] === undefined || page.columnsJson === undefined) return undefined
    const theirs = textIn(page.items[0])
    // Ages change while the answer is in flight.
    const moments = [fromMs, clock.wallMs()]
    const isOurs = moments.some(now => {
      const row = { encoding: 'json', rendering: 'Table', includeObject: 'Metadata', now } as const
      return written(encoder, entry, { ...row, renderingVersion: 'v1' }) === theirs
    })
    if (!isOurs) return undefined
    columnsJson = page.columnsJson
  }
  if (columnsJson === undefined) return undefined
  const isShapedLikeOurs = namesOf(columnsJson).length === namesOf(encoder.table.columnsJson).length
  return isShapedLikeOurs ? { ...table, columnsJson } : undefined
}

function namesOf(columnsJson: string): readonly string[] {
  return (JSON.parse(columnsJson) as { name: string }[]).map(({ name }) => name)
}

async function isYamlOurs(learning: FormsLearning): Promise<boolean> {
  const [entry] = learning.examples
  if (entry === undefined) return false
  const theirs = await objectAs(learning, entry, 'application/yaml')
  const shown = { encoding: 'yaml', rendering: 'object', renderingVersion: 'v1' } as const
  const ours = written(encoderWith(learning, {}), entry, {
    ...shown,
    includeObject: 'None',
    now: 0,
  })
  return theirs !== undefined && Buffer.from(theirs).toString() === ours
}

function encoderWith(
  { resource, schema, hasTypedItems }: FormsLearning,
  more: Partial<LearnedOutput>,
): ObjectEncoder {
  return new ObjectEncoder(
    {
      ...resource,
      schema,
      learned: learnedOutput({ ...resource.learned, hasTypedItems, ...more }),
    },
    undefined,
  )
}

function written(encoder: ObjectEncoder, entry: KeyValue, form: OutputForm): string | undefined {
  const out = new ByteWriter()
  const problem = encoder.append(out, entry, { form, revision: entry.modRevision, place: 'alone' })
  if (problem instanceof NotExact) return undefined
  return Buffer.from(out.bytes.subarray(0, out.length)).toString()
}

/** One object in some form. */
async function objectAs(
  { upstream, resource, signal }: FormsLearning,
  entry: KeyValue,
  accept: string,
): Promise<Uint8Array | undefined> {
  const path = objectPath(resource, nameOfKey(resource.storage.prefix, entry))
  const { code, body } = await ask(upstream, { path, accept, signal })
  if (isOutageCode(code)) throw new UnexpectedAnswer(path, code)
  return code === 200 ? body : undefined
}

function nameOfKey(prefix: string, { key }: KeyValue): { namespace: string; name: string } {
  const parts = textFromKey(key).slice(prefix.length).split('/')
  return { name: parts.pop() ?? '', namespace: parts.join('/') }
}

/** An object without content, from the initial-events bookmark of a watch that selects nothing. */
async function bookmarkOf(learning: FormsLearning): Promise<EmptyObject | undefined> {
  const { upstream, resource, signal } = learning
  const path =
    `${pathOf(resource)}?watch=true&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true` +
    `&resourceVersionMatch=NotOlderThan&fieldSelector=${nobody}`
  const { code, body } = await ask(upstream, { path, signal })
  if (isOutageCode(code)) throw new UnexpectedAnswer(path, code)
  if (code !== 200) return undefined
  const [line = ''] = Buffer.from(body).toString().split('\n')
  const match =
    /^\{"type":"BOOKMARK","object":(\{.*?"metadata":\{"resourceVersion":")\d+("[^}]*?),"annotations":\{"k8s.io\/initial-events-end":"true"\}(.*)\}$/.exec(
      line,
    )
  const [, beforeRevision, beforeAnnotations, behind] = match ?? []
  if (beforeRevision === undefined || beforeAnnotations === undefined || behind === undefined) {
    return undefined
  }
  return { beforeRevision, beforeAnnotations, behind }
}

/** A server with a watch cache ignores the limit of a list at resourceVersion=0; one without obeys
 *  it. */
async function hasWatchCache(learning: FormsLearning): Promise<boolean | undefined> {
  const { resource } = learning
  const scope = smallScope(learning)
  if (scope === undefined) return undefined
  const path = `${objectPath(resource, { namespace: scope, name: '' })}?limit=1&resourceVersion=0`
  const page = await pageIfAny(learning, path)
  if (page === undefined || page.items.length === 0) return undefined
  return page.items.length > 1
}

/** A namespace with some objects, but not many; '' stands for all namespaces. Undefined if there is
 *  none. */
function smallScope({ snapshot, resource, examples }: FormsLearning): string | undefined {
  const { prefix } = resource.storage
  const isSmall = (scope: string): boolean => {
    const count = snapshot.count(prefixRange(keyFromText(`${prefix}${scope}`)))
    return count >= 2 && count <= cacheProbeMax
  }
  if (isSmall('')) return ''
  if (!resource.isNamespaced) return undefined
  const namespaces = new Set(examples.map(entry => nameOfKey(prefix, entry).namespace))
  return [...namespaces].find(namespace => isSmall(`${namespace}/`))
}
