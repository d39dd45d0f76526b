import { deepStrictEqual } from 'node:assert'
import t from 'tap'
import { readEnvelope } from '../../../lib/codec/transcode/envelope.ts'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { pickFromJson } from '../../../lib/codec/table/pick-json.ts'
import { pickFromProtobuf } from '../../../lib/codec/table/pick-source.ts'
import { defaultPrinter, printerOf } from '../../../lib/codec/table/printers.ts'
import { compilePattern } from '../../../lib/codec/table/compile-pattern.ts'
import { loadVectors } from '../transcode/vectors.ts'

const vectors = loadVectors().filter(
  ({ apiVersion, kind }) =>
    // JSON.parse rounds the revision of this one.
    kind !== 'ControllerRevision' && printerFor(apiVersion, kind) !== defaultPrinter,
)

function printerFor(apiVersion: string, kind: string) {
  const slash = apiVersion.indexOf('/')
  return printerOf(slash < 0 ? '' : apiVersion.slice(0, slash), kind)
}

function patternOf(apiVersion: string, kind: string) {
  const known = schemaOf().findKind(apiVersion, kind)
  if (known === undefined) throw new Error(`no kind ${apiVersion} ${kind}`)
  const options = { root: kind, hasDefaults: true }
  return compilePattern(printerFor(apiVersion, kind).fields, known.type, options)
}

t.test('random objects read the same from protobuf as from JSON, and are printed', async t => {
  let compared = 0
  for (const { apiVersion, kind, pb, json } of vectors) {
    let pattern
    try {
      pattern = patternOf(apiVersion, kind)
    } catch {
      // Old versions of some kinds lack fields; none of these is stored any more.
      continue
    }
    const envelope = readEnvelope(pb, 0, pb.length)
    if (envelope instanceof NotExact) throw new Error(envelope.reason)
    const picked = pickFromProtobuf(pattern, pb, envelope.rawStart, envelope.rawEnd)
    deepStrictEqual(picked, pickFromJson(pattern, JSON.parse(json)), `${apiVersion} ${kind}`)
    printerFor(apiVersion, kind).cells(picked, 0, schemaOf())
    compared++
  }
  t.ok(compared > 150, `${compared} of ${vectors.length} compared`)
})

t.test('objects that are cut short are not exact, and never end anywhere else', async t => {
  let refused = 0
  for (const { apiVersion, kind, pb } of vectors.slice(0, 40)) {
    const envelope = readEnvelope(pb, 0, pb.length)
    if (envelope instanceof NotExact || schemaOf().findKind(apiVersion, kind) === undefined) {
      continue
    }
    const { rawStart, rawEnd } = envelope
    let pattern
    try {
      pattern = patternOf(apiVersion, kind)
    } catch {
      continue
    }
    for (let end = rawStart; end < rawEnd; end += 7) {
      if (pickFromProtobuf(pattern, pb, rawStart, end) instanceof NotExact) refused++
    }
  }
  t.ok(refused > 100, `${refused} refused`)
})
