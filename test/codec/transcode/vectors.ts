/** The test vectors of the reference data: random objects of 345 kinds with Go's own bytes, in
 *  protobuf and JSON. test/codec/data has a third of them. */

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'

export interface Vector {
  readonly apiVersion: string
  readonly kind: string
  /** Protobuf with its envelope, from which `json` is made. */
  readonly pb: Buffer
  readonly json: string
  /** Protobuf that `json` becomes. */
  readonly pb2: Buffer
}

const file = 'test/codec/data/vectors.jsonl.gz'

export function loadVectors(): Vector[] {
  const lines = gunzipSync(readFileSync(file)).toString()
  return lines
    .trimEnd()
    .split('\n')
    .map(line => {
      const row = JSON.parse(line) as Record<'apiVersion' | 'kind' | 'pb' | 'json' | 'pb2', string>
      return { ...row, pb: Buffer.from(row.pb, 'base64'), pb2: Buffer.from(row.pb2, 'base64') }
    })
}
