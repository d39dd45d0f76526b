/** The recorded writes of this folder. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type JsonObject, parseTree } from '../../../lib/go/json/tree.ts'

export function recorded(name: 'episodes' | 'ownership' | 'patches'): string[] {
  const folder = 'test/writes/recorded'
  return readdirSync(folder)
    .filter(file => file.startsWith(name) && file.endsWith('.jsonl.gz'))
    .flatMap(file =>
      gunzipSync(readFileSync(join(folder, file)))
        .toString()
        .trim()
        .split('\n'),
    )
}

/** JSON as an object's tree. */
export function treeOf(value: unknown): JsonObject {
  const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
  const tree = parseTree(bytes, 0, bytes.length)
  if (!(tree instanceof Map)) throw new Error(`not an object: ${bytes.toString()}`)
  return tree
}
