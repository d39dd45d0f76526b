import t from 'tap'
import { NotExact } from '../../../lib/base/not-exact.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { jsonFromProtobuf, protobufFromJson } from '../../../lib/codec/transcode/transcode.ts'
import { moveTimes } from '../../../lib/simulator/generate/move-times.ts'

const hourMs = 3_600_000

t.test('all times of a stored object move, and nothing else', async t => {
  const lease = (created: string, renewed: string): string =>
    JSON.stringify({
      kind: 'Lease',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: {
        name: 'a',
        creationTimestamp: created,
        managedFields: [{ manager: 'm', operation: 'Update', time: created }],
      },
      spec: { holderIdentity: created, renewTime: renewed },
    })
  const before = lease('2026-01-01T23:30:00Z', '2026-01-02T00:00:00.250000Z')
  const stored = protobufFromJson(Buffer.from(before))
  if (stored instanceof NotExact) throw new Error(stored.reason)
  const moved = jsonFromProtobuf(moveTimes(stored, hourMs, schemaOf()))
  if (moved instanceof NotExact) throw new Error(moved.reason)
  const expected = lease('2026-01-02T00:30:00Z', '2026-01-02T01:00:00.250000Z')
  const found = JSON.parse(Buffer.from(moved).toString()) as { spec: { holderIdentity: string } }
  t.equal(found.spec.holderIdentity, '2026-01-01T23:30:00Z', 'a text that only looks like a time')
  found.spec.holderIdentity = '2026-01-02T00:30:00Z'
  t.strictSame(found, JSON.parse(expected))
})

t.test('times of custom resources move, and what is no object stays', async t => {
  const move = (text: string): string =>
    Buffer.from(moveTimes(Buffer.from(text), -hourMs, schemaOf())).toString()
  t.equal(move('{"at":"2026-01-01T00:00:00Z","b":"x"}'), '{"at":"2025-12-31T23:00:00Z","b":"x"}')
  for (const text of ['', '12', 'k8s:enc:x', '{"at":"2026-13-41T00:00:00Z"}']) {
    t.equal(move(text), text)
  }
  const broken = Buffer.from('k8s\0\x0a\x7fbroken', 'latin1')
  t.strictSame(Buffer.from(moveTimes(broken, hourMs, schemaOf())), broken)
})
