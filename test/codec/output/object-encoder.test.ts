import t from 'tap'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { ObjectEncoder } from '../../../lib/codec/output/object-encoder.ts'
import { prepareView } from '../../../lib/codec/served/view.ts'
import { SlowClock } from '../../support/fake-clock.ts'
import { builtIn } from '../../support/kube/outputs.ts'

t.test('what writes a kind is compiled for its first request, in slices', async t => {
  const clock = new SlowClock()
  const encoder = new ObjectEncoder(builtIn({ group: 'apps', kind: 'DaemonSet' }), undefined)
  t.equal(encoder.prepare({ encoding: 'protobuf', rendering: 'object' }, clock), undefined)
  t.equal(encoder.prepare({ encoding: 'json', rendering: 'Table' }, clock), undefined)
  const asked = { encoding: 'json', rendering: 'object' } as const
  await Promise.all([encoder.prepare(asked, clock), encoder.prepare(asked, clock)])
  t.ok(clock.yields > 5, `${clock.yields} turns for others`)
  t.equal(encoder.prepare(asked, clock), undefined, 'and once')
  t.strictSame([...prepareView(schemaOf(), 'apps/v1', 'DaemonSet')], [], 'all that it needs')
})
