import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { Form } from '../../../lib/proxy/evidence/form.ts'
import { Shapes } from '../../../lib/proxy/evidence/rows/shapes.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import { KeyValue, noLease } from '../../../lib/store/event.ts'

const [resource] = builtInResources(schemaOf())

function entryOf(spec: object): KeyValue {
  const bytes = Buffer.from(`${JSON.stringify({ spec })}\n`)
  const window = { bytes, start: 0, end: bytes.length }
  const meta = { createRevision: revision(1), modRevision: revision(1), version: 1, lease: noLease }
  return new KeyValue(keyFromText('/a'), window, meta)
}

t.test('an object that the upstream shows differently passes, whatever others prove', t => {
  const form = new Form({
    resource: resource!,
    version: '',
    output: {
      encoding: 'json',
      rendering: 'object',
      renderingVersion: 'v1',
      includeObject: 'Metadata',
    },
    shapes: new Shapes(),
    generation: 'a',
    onTask: () => {},
  })
  const [first, second] = [
    entryOf({ x: { p: 1 }, y: { p: 1 } }),
    entryOf({ x: { q: 1 }, y: { q: 1 } }),
  ]
  // All of its rows are in one of the others.
  const [converted, same] = [
    entryOf({ x: { p: 1 }, y: { q: 1 } }),
    entryOf({ x: { q: 1 }, y: { p: 1 } }),
  ]
  form.learn([first], 'item')
  form.except(converted)
  form.learn([second], 'item')
  t.equal(form.objection(first, 'item'), undefined)
  t.equal(form.objection(same, 'item'), undefined)
  t.match(form.objection(converted, 'item')?.reason, /shows it in another way/)
  t.end()
})
