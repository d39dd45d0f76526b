import t from 'tap'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import type { PodFact } from '../../../lib/simulator/runtime/facts.ts'
import type { Labels, Selector } from '../../../lib/simulator/runtime/objects.ts'
import { Selections } from '../../../lib/simulator/runtime/selections.ts'
import { selects } from '../../../lib/simulator/runtime/selectors.ts'

const namespace = 'default'
const podWith = (name: string, labels: Labels): PodFact =>
  ({ key: keyFromText(name), namespace, labels }) as PodFact
const byLabels = (matchLabels: Labels): Selector => ({ matchLabels })

function selecting(name: string, selector: Selector): Parameters<Selections['put']>[0] {
  const matches = (labels: Labels): boolean => selects(selector, labels)
  return { key: keyFromText(name), namespace, selector, matches }
}

t.test('a pod is told to those that select it, or did', async t => {
  const selections = new Selections()
  const [web, db] = [podWith('web', { app: 'web' }), podWith('db', { app: 'db' })]
  selections.put(selecting('a', byLabels({ app: 'web' })), [web, db])
  t.strictSame(selections.podChanged(web), ['a'])
  t.strictSame(selections.podChanged(db), [])
  t.strictSame([...selections.podsOf('a' as Key)], ['web'])
  t.strictSame(selections.podChanged(podWith('web', { app: 'db' })), ['a'], 'it was selected')
  t.strictSame([...selections.podsOf('a' as Key)], [])
  t.strictSame(selections.podChanged(podWith('db', { app: 'web' })), ['a'])
  t.strictSame(selections.podGone(db), ['a'])
  t.strictSame(selections.podGone(db), [])
})

t.test('a selector without labels is compared with each pod', async t => {
  const selections = new Selections()
  const selector = { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['db'] }] }
  selections.put(selecting('a', selector), [])
  t.strictSame(selections.podChanged(podWith('web', { app: 'web' })), ['a'])
  t.strictSame(selections.podChanged(podWith('db', { app: 'db' })), [])
  selections.remove('a' as Key)
  t.strictSame(selections.podChanged(podWith('web', { app: 'web' })), [])
})

t.test('another selector selects other pods', async t => {
  const selections = new Selections()
  const [web, db] = [podWith('web', { app: 'web' }), podWith('db', { app: 'db' })]
  selections.put(selecting('a', byLabels({ app: 'web' })), [web, db])
  selections.put(selecting('a', byLabels({ app: 'db' })), [web, db])
  t.strictSame([...selections.podsOf('a' as Key)], ['db'])
  t.strictSame(selections.podGone(web), [])
})
