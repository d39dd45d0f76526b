/** The objects that kube-apiserver makes at its first start, in its stored form: namespaces, roles
 *  and their bindings, flow schemas and priority levels, priority classes, an APIService for each
 *  group and version, and the range of Services.
 *
 *  The write path has made these bytes (test/support/fresh/), once: to make two hundred objects in
 *  a process that has just started takes half a second, and to put their uids and times in place
 *  a few milliseconds. A test makes them anew and compares. */

import { readDataFile, varintLength, writeVarint } from '@watchglass/base'

export interface StoredObject {
  /** Below the prefix of all objects, as `clusterroles/view`. */
  readonly key: string
  readonly value: Uint8Array
}

/** A row of stored.json. */
export interface StoredRow {
  /** The second number of the first and of the last version; absent: of all that are known. */
  readonly since?: number | undefined
  readonly until?: number | undefined
  readonly key: string
  /** Base64. */
  readonly value: string
}

/** The uid and the time that the objects in the file have. */
export const fileUid = '00000000-0000-4000-8000-000000000000'
export const fileSeconds: number = Date.UTC(2020, 0, 1) / 1000

/** In the order in which they can be made.
 *  @param minor as `1.36` */
export function* storedObjects(
  minor: string,
  { uid, seconds }: { readonly uid: () => string; readonly seconds: number },
): Iterable<StoredObject> {
  const number = Number(minor.split('.')[1])
  const rows = readDataFile(import.meta.url, './stored.json') as readonly StoredRow[]
  for (const { since = number, until = number, key, value } of rows) {
    if (number < since || number > until) continue
    const bytes = Buffer.from(value, 'base64')
    for (const [before, after] of [
      [Buffer.from(fileUid), Buffer.from(uid())],
      [textOf(fileSeconds), textOf(seconds)],
      [numberOf(fileSeconds), numberOf(seconds)],
    ] as const) {
      replaceAll(bytes, before, after)
    }
    yield { key, value: bytes }
  }
}

/** Uids and times of now are as long as those in the file. */
function replaceAll(bytes: Buffer, before: Buffer, after: Buffer): void {
  let at = bytes.indexOf(before)
  for (; at !== -1; at = bytes.indexOf(before, at + after.length)) after.copy(bytes, at)
}

/** In JSON. */
function textOf(seconds: number): Buffer {
  return Buffer.from(`${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`)
}

/** In protobuf: the seconds of a time, its first field. */
function numberOf(seconds: number): Buffer {
  const bytes = Buffer.alloc(1 + varintLength(seconds), 0x08)
  writeVarint(bytes, 1, seconds)
  return bytes
}
