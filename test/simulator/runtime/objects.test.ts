import t from 'tap'
import { metadataForPods, type PodTemplate } from '../../../lib/simulator/runtime/objects.ts'

t.test('pods do not take the name of their template: a second one could not be made', async t => {
  const metadata = { name: 'x', labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['e/f'] }
  const template: PodTemplate = { metadata, spec: {} }
  t.strictSame(metadataForPods(template), {
    labels: { a: 'b' },
    annotations: { c: 'd' },
    finalizers: ['e/f'],
  })
  t.strictSame(metadataForPods({ spec: {} }), {})
})
