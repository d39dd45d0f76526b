/** The entries of a file of clusters. YAML takes a millisecond for some entries, so a long list is
 *  read in slices: while the file is a plain list, each item of it is a document of its own. */

import { Slice, yamlValues } from '@watchglass/base'
import { systemClock } from '@watchglass/cache'
import { invalid } from '../../options/invalid.ts'

export interface ClusterEntry {
  readonly name: unknown
  readonly entry: Readonly<Record<string, unknown>>
}

type Mapping = ClusterEntry['entry']

/** A file that is no plain list is read in one step, which takes 0.1 s for so much. */
const wholeMaxBytes = 256 * 1024
/** JSON is read thirty times as fast. */
const jsonMaxBytes = 1024 * 1024

export async function entriesIn(bytes: Buffer): Promise<readonly ClusterEntry[]> {
  const text = bytes.toString('utf8')
  if (bytes.length <= jsonMaxBytes && /^\s*\{/.test(text)) {
    const value = jsonIn(text)
    if (value !== undefined) return entriesOf(value)
  }
  const items = itemsIn(text)
  const inSlices = items === undefined ? undefined : await readItems(items)
  if (inSlices !== undefined) return inSlices
  if (bytes.length > wholeMaxBytes) {
    throw invalid(
      `a file of more than ${wholeMaxBytes / 1024} KiB has to be a plain list: the line "clusters:", and an item for each cluster, without anchors`,
    )
  }
  return entriesOf(mappingIn(text))
}

/** Undefined if one of them cannot be read by itself. */
async function readItems(items: readonly string[]): Promise<ClusterEntry[] | undefined> {
  const slice = new Slice(systemClock)
  const entries: ClusterEntry[] = []
  try {
    for (const item of items) {
      const [value, ...more] = yamlValues(item)
      if (!Array.isArray(value) || value.length !== 1 || more.length > 0) return undefined
      entries.push(...entriesOf({ clusters: value as unknown[] }))
      await slice.giveWay()
    }
  } catch {
    // The place of a mistake is told by who reads the whole.
    return undefined
  }
  return entries
}

/** The texts of the items; undefined if the file has anything else than comments, the line
 *  `clusters:`, and a block list. Whatever belongs to an item is indented more than its dash. */
function itemsIn(text: string): string[] | undefined {
  const items: string[][] = []
  let isBegun = false
  let indent: number | undefined
  for (const line of text.split('\n')) {
    const isNothing = /^\s*(?:#.*)?$/.test(line)
    const at = line.search(/\S/)
    if (!isBegun) {
      isBegun = /^clusters:\s*(?:#.*)?$/.test(line)
      if (!isBegun && !isNothing) return undefined
    } else if (!isNothing && /^ *-(?: |$)/.test(line) && (indent === undefined || at === indent)) {
      indent = at
      items.push([line])
    } else if (indent !== undefined && (isNothing || at > indent)) items.at(-1)?.push(line)
    else if (!isNothing) return undefined
  }
  return isBegun ? items.map(lines => lines.join('\n')) : undefined
}

function jsonIn(text: string): Mapping | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isMapping(value) ? value : undefined
  } catch {
    return undefined
  }
}

function entriesOf({ clusters, ...stray }: Mapping): ClusterEntry[] {
  const [unknown] = Object.keys(stray)
  if (unknown !== undefined) throw invalid(`unknown member ${JSON.stringify(unknown)}`)
  const all: unknown = clusters ?? []
  if (!Array.isArray(all) || !all.every(isMapping)) throw invalid('clusters is not a list')
  return all.map(({ name, ...entry }) => ({ name, entry }))
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The mapping that a text of YAML is. */
export function mappingIn(text: string): Mapping {
  const [document, ...more] = yamlValues(text)
  if (!isMapping(document) || more.length > 0) throw invalid('it is not one mapping of YAML')
  return document
}
