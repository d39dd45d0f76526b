/** Reads the recordings of an aggregated API server in `../data/aggregated`. */

import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { keyFromText, singleKey } from '../../../lib/base/keys.ts'
import type { Client, Operation } from '../../../lib/etcd/client.ts'
import type { Exchange, HistoryLine, RecordedWatch } from '../load.ts'

export type Variant =
  | 'default'
  | 'prefix'
  | 'no-watch-cache'
  | 'protobuf'
  | 'cbor'
  | '0.37'
  | '0.37-shards'

export const variants: readonly Variant[] = ['prefix', 'no-watch-cache', 'protobuf', 'cbor']

export interface Recording {
  readonly history: readonly HistoryLine[]
  readonly exchanges: readonly Exchange[]
  readonly watches: readonly RecordedWatch[]
}

export function readRecording(variant: Variant): Recording {
  const folder = variant === 'default' ? '' : `variants/${variant}/`
  const read = <T>(name: string): T[] => {
    const file = new URL(
      `../../../../test/golden/data/aggregated/${folder}${name}.jsonl.gz`,
      import.meta.url,
    )
    const lines = gunzipSync(readFileSync(file)).toString().split('\n')
    return lines.filter(line => line !== '').map(line => JSON.parse(line) as T)
  }
  return { history: read('history'), exchanges: read('exchanges'), watches: read('watches') }
}

/** Writes what a server wrote, up to a revision. */
export class RecordedWriter {
  readonly #client: Client
  readonly #lines: readonly HistoryLine[]
  #next = 0

  constructor(client: Client, lines: readonly HistoryLine[]) {
    this.#client = client
    this.#lines = lines
  }

  async writeUpTo(revision: number): Promise<void> {
    for (let line = this.#lines[this.#next]; line !== undefined; line = this.#lines[this.#next]) {
      if (line.rev > revision) return
      const operations: Operation[] = []
      for (; this.#lines[this.#next]?.rev === line.rev; this.#next++) {
        operations.push(operationOf(this.#lines[this.#next]!))
      }
      await this.#client.txn({ compares: [], success: operations, failure: [] })
    }
  }
}

function operationOf({ type, key: text, value = '' }: HistoryLine): Operation {
  const key = keyFromText(text)
  if (type === 'delete') return { type, range: singleKey(key) }
  return { type, key, value: Buffer.from(value, 'base64') }
}
