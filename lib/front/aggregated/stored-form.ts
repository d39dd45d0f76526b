/** The format of a stored value, from its first bytes. */

import { createHash } from 'node:crypto'
import { NotExact } from '../../codec/not-exact.ts'
import { formatOf } from '../../codec/served/object-view.ts'
import { readEnvelope } from '../../codec/transcode/envelope.ts'
import { objectOf, textOf } from '../../base/untyped.ts'
import type { KeyValue } from '../../store/event.ts'

export type StoredForm =
  | { readonly type: 'json' | 'protobuf'; readonly apiVersion: string; readonly kind: string }
  /** Why it cannot be read. */
  | { readonly type: 'unreadable'; readonly problem: string }

export function storedForm(entry: KeyValue): StoredForm {
  const format = formatOf(entry)
  if (format instanceof NotExact) return { type: 'unreadable', problem: format.reason }
  const { bytes, start, end } = entry
  if (format === 'protobuf') {
    const envelope = readEnvelope(bytes, start, end)
    if (envelope instanceof NotExact) return { type: 'unreadable', problem: envelope.reason }
    return { type: 'protobuf', apiVersion: envelope.apiVersion, kind: envelope.kind }
  }
  try {
    const object = objectOf(JSON.parse(Buffer.from(bytes.subarray(start, end)).toString()))
    const [apiVersion, kind] = [textOf(object['apiVersion']), textOf(object['kind'])]
    if (apiVersion !== '' && kind !== '') return { type: 'json', apiVersion, kind }
    return { type: 'unreadable', problem: 'value has no apiVersion or no kind' }
  } catch {
    return { type: 'unreadable', problem: 'value is not JSON' }
  }
}

/** The hash with which discovery names the storage version. */
export function storageVersionHash(group: string, version: string, kind: string): string {
  const digest = createHash('sha256').update(`${group}/${version}/${kind}`).digest()
  return digest.subarray(0, 8).toString('base64')
}
