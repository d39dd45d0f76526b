/** Bytes that others have made, changed here and there, through everything that reads them by
 *  itself: stored values, definitions and their objects, lines of recordings, subjects of
 *  certificates, bodies, selectors, expressions, records of a data folder. They are read, or
 *  refused with a reason. */

import { createHash, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { CacheError } from '../../../lib/base/errors.ts'
import { keyFromText } from '../../../lib/base/keys.ts'
import { createRandom, type Random } from '../../../lib/base/random.ts'
import { revision } from '../../../lib/base/revision.ts'
import { Anonymizer } from '../../../lib/simulator/generate/anonymize.ts'
import { moveTimes } from '../../../lib/simulator/generate/move-times.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { decodedLine, encodedLine } from '../../../lib/cli/commands/decode.ts'
import { formatLine, parseLine } from '../../../lib/cli/commands/recordings/line.ts'
import { subjectOf } from '../../../lib/cache/http/auth/subject.ts'
import { KeyValue, noLease } from '../../../lib/store/event.ts'
import { SlabWriter } from '../../../lib/store/slab.ts'
import type { FuzzOptions } from './fuzz.ts'
import { createGrammar, type Grammar } from './grammar.ts'
import { readHostileTexts } from './hostile-texts.ts'
import { readOddDefinition } from './odd-definitions.ts'
import { oddObject, recordedObjects } from './odd-objects.ts'

export interface ValuesReport {
  readonly sent: number
  /** Number of stored values that could be read. */
  readonly read: number
  readonly findings: readonly string[]
}

export function fuzzValues({ requests, seed }: FuzzOptions): ValuesReport {
  const recorded = recordedObjects()
  const certificate = new X509Certificate(readFileSync('test/support/certs/client.pem')).raw
  const findings: string[] = []
  let [sent, read] = [0, 0]
  for (; sent < requests; sent++) {
    const random = createRandom(seed + sent)
    const grammar = createGrammar(random)
    const json = oddObject(random, recorded[Math.floor(random.next() * recorded.length)]!, 'a')
    try {
      read += readValue(random, grammar, json)
      subjectOf(grammar.changed(certificate))
      readHostileTexts(random, grammar, json)
      if (sent % 8 === 0) readOddDefinition(random)
    } catch (error) {
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
      findings.push(`seed ${seed + sent}: ${what}\n${json.slice(0, 2000)}`)
    }
  }
  return { sent, read, findings }
}

const anonymizer = new Anonymizer(schemaOf(), text => createHash('sha256').update(text).digest())

/** 1 if the value could be read. */
function readValue(random: Random, grammar: Grammar, json: string): number {
  const protobuf = protobufFromJson(Buffer.from(json))
  const isJson = protobuf instanceof NotExact || random.next() < 0.3
  const value = grammar.changed(Buffer.from(isJson ? Buffer.from(json) : protobuf))
  const line = decodedLine(JSON.stringify({ value: value.toString('base64') }))
  const decoded = JSON.parse(line) as { json?: string }
  if (decoded.json !== undefined) encodedLine(JSON.stringify({ json: decoded.json }))
  encodedLine(grammar.changed(Buffer.from(line)).toString())
  moveTimes(value, 86_400_000, schemaOf())
  const renamed = anonymizer.value(value)
  const meta = { createRevision: revision(5), modRevision: revision(5), version: 1, lease: noLease }
  const window = { bytes: value, start: 0, end: value.length }
  const entry = new KeyValue(keyFromText('/registry/a'), window, meta)
  const recorded = Buffer.from(formatLine(revision(5), { type: 'put', entry }))
  try {
    parseLine(grammar.changed(recorded).toString(), new SlabWriter())
  } catch (error) {
    if (!(error instanceof CacheError)) throw error
  }
  return renamed instanceof NotExact ? 0 : 1
}
