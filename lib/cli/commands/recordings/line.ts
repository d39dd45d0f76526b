/** One line of a recorded history, to and from what the layers above speak. A line is a JSON
 *  object:
 *
 *      {"rev":7,"type":"put","key":"/a","value":"eA==","create_revision":5,"mod_revision":7,"version":2,"lease":"0"}
 *      {"rev":8,"type":"delete","key":"/a"}
 *
 *  `time_ms`, in milliseconds since 1970, says when a change was recorded; what was there before
 *  has no such time. Values are base64. A lease is text, because it has more bits than a JSON
 *  number keeps. A key that is not UTF-8 is given as `key_base64`. Nothing is taken that the
 *  writer would not write: a recording is evidence. */

import {
  bytesFromKey,
  type Key,
  keyFromBytes,
  keyFromText,
  knownMax,
  knownRevision,
  type Revision,
  textFromKey,
} from '@watchglass/base'
import { type Change, KeyValue, type SlabWriter } from '@watchglass/store'
import { invalid } from '../../options/invalid.ts'

/** The name that the format has for a revision. */
const revisionName = 'rev'

export interface RecordedLine {
  readonly revision: Revision
  readonly change: Change
  readonly timeMs: number | undefined
}

/** The line, without its line feed. */
export function formatLine(at: Revision, change: Change, timeMs?: number): string {
  const time = timeMs === undefined ? {} : { time_ms: timeMs }
  if (change.type === 'delete') {
    return JSON.stringify({ [revisionName]: at, type: 'delete', ...keyFields(change.key), ...time })
  }
  const { key, bytes, start, end, createRevision, modRevision, version, lease } = change.entry
  return JSON.stringify({
    [revisionName]: at,
    type: 'put',
    ...keyFields(key),
    value: Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('base64'),
    create_revision: createRevision,
    mod_revision: modRevision,
    version,
    lease: String(lease),
    ...time,
  })
}

/** The types of the lines before and after a base. */
export const baseBegin = 'base_begin'
export const baseEnd = 'base_end'

/** The line before or after a base: one names the etcd, the other proves that the base is whole.
 *  Recordings of older versions do neither. */
export interface BaseMark {
  readonly type: typeof baseBegin | typeof baseEnd
  /** The revision that the base was read at. */
  readonly revision: Revision
  /** The id of the etcd's cluster, before the base. */
  readonly clusterId?: bigint | undefined
  /** Number of the lines of the base, and their CRC-32, behind it. */
  readonly lines?: number | undefined
  readonly checksum?: number | undefined
}

/** The line before or after a base, without its line feed. */
export function formatBaseMark({ type, revision, clusterId, lines, checksum }: BaseMark): string {
  return JSON.stringify({
    [revisionName]: revision,
    type,
    cluster_id: clusterId === undefined ? undefined : String(clusterId),
    lines,
    crc32: checksum,
  })
}

/** Marks have their type right after the revision; lines of changes, which are long, are not read
 *  twice. */
const markStart = /^\{"rev":[^,]{1,20},"type":"base_/

/** The mark that a line is; undefined for a change. */
export function baseMarkIn(text: string): BaseMark | undefined {
  if (!markStart.test(text)) return undefined
  const fields = objectFrom(text)
  const { type, cluster_id: cluster } = fields
  if (type !== baseBegin && type !== baseEnd) return undefined
  const known = (name: string): number | undefined => fields[name] as number | undefined
  return {
    type,
    revision: revisionField(fields, revisionName),
    clusterId: typeof cluster === 'string' ? clusterIdIn(cluster) : undefined,
    lines: known('lines'),
    checksum: known('crc32'),
  }
}

function clusterIdIn(text: string): bigint {
  if (/^\d{1,20}$/.test(text)) return BigInt(text)
  throw invalid('cluster_id is not a whole number in quotes')
}

/** The change of a line, with the value in a slab. `invalid_request` says what is wrong with it. */
export function parseLine(text: string, slabs: SlabWriter): RecordedLine {
  const fields = objectFrom(text)
  const at = revisionField(fields, revisionName)
  const { type } = fields
  if (type !== 'put' && type !== 'delete') throw invalid('type is neither put nor delete')
  const key = keyField(fields)
  const timeMs = fields['time_ms'] === undefined ? undefined : countField(fields, 'time_ms')
  const fieldsMax = (type === 'put' ? 8 : 3) + (timeMs === undefined ? 0 : 1)
  if (Object.keys(fields).length > fieldsMax) throw invalid(`a ${type} has more fields than it may`)
  if (type === 'delete') return { revision: at, change: { type, key }, timeMs }
  const meta = {
    createRevision: revisionField(fields, 'create_revision'),
    modRevision: revisionField(fields, 'mod_revision'),
    version: countField(fields, 'version'),
    lease: leaseField(fields),
  }
  if (meta.createRevision > meta.modRevision || meta.modRevision > at) {
    throw invalid('create_revision, mod_revision and rev are not in order')
  }
  if (meta.version === 1 && meta.createRevision !== meta.modRevision) {
    throw invalid('the first version of a key was not made by its creation')
  }
  if (meta.version > 1 && meta.createRevision === meta.modRevision) {
    throw invalid('a later version of a key was made by its creation')
  }
  const value = slabs.copy(base64Field(fields, 'value'))
  return { revision: at, change: { type, entry: new KeyValue(key, value, meta) }, timeMs }
}

type Fields = Readonly<Record<string, unknown>>

function objectFrom(text: string): Fields {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw invalid('it is not JSON')
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw invalid('it is not an object')
  }
  return parsed as Fields
}

function keyFields(key: Key): { key: string } | { key_base64: string } {
  const text = textFromKey(key)
  return keyFromText(text) === key
    ? { key: text }
    : { key_base64: bytesFromKey(key).toString('base64') }
}

function keyField(fields: Fields): Key {
  const text = fields['key']
  if (text === undefined && fields['key_base64'] === undefined) throw invalid('there is no key')
  if (text === undefined) return keyFromBytes(base64Field(fields, 'key_base64'))
  if (typeof text !== 'string' || text === '') throw invalid('key is not a text')
  return keyFromText(text)
}

function revisionField(fields: Fields, name: string): Revision {
  return knownRevision(countField(fields, name))
}

function countField(fields: Fields, name: string): number {
  const value = fields[name]
  const isCount = typeof value === 'number' && Number.isSafeInteger(value) && value > 0
  // There are more to come after it.
  if (isCount && value <= knownMax) return value
  throw invalid(`${name} is not a whole number from 1 to 2^53 - 2^32`)
}

const leaseMax = 2n ** 63n - 1n

function leaseField(fields: Fields): bigint {
  const value = fields['lease']
  if (typeof value === 'string' && /^(?:0|[1-9]\d{0,18})$/.test(value)) {
    const lease = BigInt(value)
    if (lease <= leaseMax) return lease
  }
  throw invalid('lease is not a whole number in quotes from 0 to 2^63 - 1')
}

/** `Buffer.from` passes over what is not base64, so that has to be looked for. */
function base64Field(fields: Fields, name: string): Buffer {
  const text = fields[name]
  if (typeof text === 'string' && text.length % 4 === 0 && /^[\w+/]*={0,2}$/.test(text)) {
    return Buffer.from(text, 'base64')
  }
  throw invalid(`${name} is not base64`)
}
