import t from 'tap'
import type { JqValue } from '../../../lib/simulator/jq/values.ts'
import { chooseStage } from '../../../lib/simulator/stages/lifecycle.ts'
import { StageSubject } from '../../../lib/simulator/stages/expressions.ts'
import { type LifecycleStage, stageOf } from '../../../lib/simulator/stages/stage.ts'

function stage(name: string, spec: object): LifecycleStage {
  const resourceRef = { apiGroup: 'v1', kind: 'Pod' }
  const made = stageOf({ metadata: { name }, spec: { resourceRef, selector: {}, ...spec } })
  if (made === undefined) throw new Error('it has a selector')
  return made
}

const pod = (metadata: { readonly [key: string]: JqValue } = {}): StageSubject =>
  new StageSubject({ metadata })
const annotated = (key: string, value: string): StageSubject =>
  pod({ annotations: { [key]: value } })

t.test('a stage is chosen by weights', async t => {
  const [one, three, none] = [1, 3, 0].map(weight => stage(String(weight), { weight }))
  const all = [one, three, none] as LifecycleStage[]
  const chosen = (drawn: number): string | undefined => chooseStage(all, pod(), () => drawn)?.name
  t.same([0, 0.24, 0.26, 0.99].map(chosen), ['1', '1', '3', '3'])
  const unweighted = ['a', 'b'].map(name => stage(name, {}))
  t.equal(chooseStage(unweighted, pod(), () => 0.6)?.name, 'b')
  t.equal(
    chooseStage([], pod(), () => 0),
    undefined,
  )
  const from = { weight: 2, weightFrom: { expressionFrom: '.metadata.annotations.w' } }
  const weights = ['5', '', 'x', undefined].map(value =>
    stage('w', from).weight(value === undefined ? pod() : annotated('w', value)),
  )
  t.same(weights, [5, undefined, undefined, 2])
})

const from = (member: string, expressionFrom: string): object => ({ [member]: { expressionFrom } })

/** In milliseconds, with half of the jitter. */
const delays: readonly (readonly [delay: object, subject: StageSubject, delayMs: number])[] = [
  [{ durationMilliseconds: 1000 }, pod(), 1000],
  [{ durationMilliseconds: 1000, jitterDurationMilliseconds: 3000 }, pod(), 2000],
  [{ durationMilliseconds: 3000, jitterDurationMilliseconds: 1000 }, pod(), 1000],
  [{ durationMilliseconds: 7, ...from('durationFrom', '.metadata.annotations.d') }, pod(), 7],
  [from('durationFrom', '.metadata.annotations.d'), annotated('d', '1m2s'), 62_000],
  [from('durationFrom', '.metadata.annotations.d'), annotated('d', '1970-01-01T00:01:00Z'), 50_000],
  [from('durationFrom', '.metadata.annotations.d'), annotated('d', '1969-01-01T00:00:00Z'), 0],
  [
    { durationMilliseconds: 9, ...from('durationFrom', '.metadata.annotations.d') },
    annotated('d', '?'),
    9,
  ],
  [{ durationFrom: { cel: { expression: 'duration("2s")' } } }, pod(), 2000],
  [{ durationMilliseconds: 0, ...from('jitterDurationFrom', '"4s"') }, pod(), 2000],
]

t.test('a delay is a duration, a time, or drawn between two', async t => {
  for (const [delay, subject, delayMs] of delays) {
    const made = stage('late', { delay })
    t.equal(made.delayMs(subject, 10_000, 0.5), delayMs, JSON.stringify(delay))
  }
})

t.test('a selector compares labels, annotations and values of expressions', async t => {
  const labels = { labels: { app: 'web' }, annotations: { n: '1' } }
  const matches = (selector: object, subject: StageSubject): boolean =>
    stage('s', { selector }).matches(subject)
  t.equal(matches({ matchLabels: { app: 'web' } }, pod(labels)), true)
  t.equal(matches({ matchLabels: { app: 'x' } }, pod(labels)), false)
  t.equal(matches({ matchAnnotations: { n: '1' } }, pod(labels)), true)
  const by = (key: string, operator: string, values?: string[]): object => ({
    matchExpressions: [{ key, operator, ...(values ? { values } : {}) }],
  })
  const count = pod({ count: 3, on: true })
  t.equal(matches(by('.metadata.count', 'In', ['3']), count), true)
  t.equal(matches(by('.metadata.on', 'In', ['true']), count), true)
  t.equal(matches(by('.metadata.none.[]', 'NotIn', ['a']), count), true, 'one that fails has none')
  t.equal(matches(by('.metadata.none', 'DoesNotExist'), count), true)
  t.equal(matches(by('.metadata.none', 'Exists'), count), false)
})
