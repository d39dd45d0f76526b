/** Bodies, selectors, expressions and records that were changed here and there, each through the
 *  one reader that is for it. */

import { encode } from 'cborg'
import { stringify } from 'yaml'
import { CacheError } from '../../../lib/base/errors.ts'
import type { Random } from '../../../lib/base/random.ts'
import { atOnce } from '../../../lib/base/slice.ts'
import { kubernetesEnvironment } from '../../../lib/cel/environment.ts'
import { freeValue } from '../../../lib/cel/schema/data.ts'
import { dynType } from '../../../lib/cel/types.ts'
import {
  appendRecord,
  decodePayload,
  encodePayload,
} from '../../../lib/etcd-server/journal/records.ts'
import { jsonFromCbor } from '../../../lib/writes/decode/cbor-body.ts'
import { DecodeError } from '../../../lib/writes/decode/typed-decoder.ts'
import { parseYaml } from '../../../lib/writes/decode/yaml-body.ts'
import { parseTree } from '../../../lib/go/json/tree.ts'
import { parseShardSelector } from '../../../lib/kube/selectors/shard-selector.ts'
import { revision } from '../../../lib/base/revision.ts'
import { StatusError } from '../../../lib/kube/status.ts'
import { EntryMaker } from '../../../lib/etcd-server/engine/entry-maker.ts'
import { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import type { Grammar } from './grammar.ts'

const environment = kubernetesEnvironment(36, {})
const variables = new Map([['self', dynType]])

const selector =
  "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000') || shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"

const expressions = [
  "self.metadata.name.matches('^a(b|c)*$') && size(self.metadata.labels) < 3",
  'self.?spec.?replicas.orValue(1) in [1, 2, 3] || has(self.status)',
  "self.metadata.labels.all(k, k.startsWith('a') ? true : self.metadata.labels[k].size() > 1)",
  "'%s %d'.format([self.kind, 5]).replace('a', 'bb').split(' ').map(x, x + x).join('-') == ''",
  "quantity('1Gi').isGreaterThan(quantity('1M')) && cidr('10.0.0.0/8').containsIP('10.1.1.1')",
  "timestamp('2024-01-01T00:00:00Z') + duration('1h') > timestamp(0) && url('http://a/b').getHost() == 'a'",
]

const records = payload()

function payload(): Buffer {
  const out = new ByteWriter(256)
  const ids = { clusterId: 1n, memberId: 2n, raftTerm: 3n }
  appendRecord(out, { type: 'start', ...ids, revision: 5 })
  appendRecord(out, { type: 'base', revision: revision(5), compactRevision: 2, oldestBatch: 3 })
  appendRecord(out, { type: 'lease', id: 7n, ttlSeconds: 60, remainingMs: 1000 })
  appendRecord(out, { type: 'compaction', revision: 4 })
  appendRecord(out, { type: 'end' })
  return Buffer.from(encodePayload(1, 1000, out.copy()))
}

/** Reads all of them; throws for what is neither read nor refused. */
export function readHostileTexts(random: Random, grammar: Grammar, json: string): void {
  const value: unknown = JSON.parse(json)
  orRefused(() => jsonFromCbor(grammar.changed(Buffer.from(encode(value)))))
  orRefused(() => atOnce(parseYaml(grammar.changed(Buffer.from(stringify(value))))))
  orRefused(() => parseShardSelector(grammar.changed(Buffer.from(selector)).toString()))
  orRefused(() => decodePayload(grammar.changed(records), new EntryMaker()))
  const source = expressions[Math.floor(random.next() * expressions.length)] ?? ''
  const { expression } = environment.compile(
    grammar.changed(Buffer.from(source)).toString(),
    variables,
  )
  if (expression === undefined) return
  expression.estimate(() => undefined)
  const bytes = Buffer.from(json)
  expression.run([freeValue(parseTree(bytes, 0, bytes.length) ?? null)], 100_000)
}

function orRefused(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    const isRefusal =
      error instanceof DecodeError || error instanceof StatusError || error instanceof CacheError
    if (!isRefusal) throw error
  }
}
