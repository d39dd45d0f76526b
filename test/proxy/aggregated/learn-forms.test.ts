/** Forms that were learnt of a server, and are asked for again: which answers keep them. */

import t from 'tap'
import { UpstreamFailure } from '../../../lib/proxy/upstream/failure.ts'
import { type FormsLearning, learnForms } from '../../../lib/proxy/aggregated/learn-forms.ts'
import type { UpstreamAnswer } from '../../../lib/cache/http/auth/upstream-calls.ts'

const emptyObject = { beforeRevision: '{', beforeAnnotations: '', behind: '}' }
const learned = { generation: 3, emptyItems: '[]', emptyMetadata: 'null', emptyObject }

async function learnt(
  answer: () => Promise<UpstreamAnswer>,
  generation = 3,
): ReturnType<typeof learnForms> {
  return learnForms({
    upstream: { call: answer },
    resource: {
      group: 'g',
      version: 'v1',
      resource: 'things',
      storage: { prefix: '/registry/g/things/' },
      learned: { ...learned, generation },
    },
    snapshot: { count: () => 0 },
    examples: [],
    hasTypedItems: false,
    signal: new AbortController().signal,
  } as unknown as FormsLearning)
}

const coded = (code: number) => async (): Promise<UpstreamAnswer> => ({
  code,
  headers: {},
  body: Buffer.from('{}'),
})
const failing = (fault: 'unreachable' | 'late' | 'busy') => (): Promise<never> =>
  Promise.reject(new UpstreamFailure(fault, fault))

for (const [what, answer, isKept] of [
  ['429', coded(429), true],
  ['500', coded(500), true],
  ['503', coded(503), true],
  ['no connection', failing('unreachable'), true],
  ['no answer in time', failing('late'), true],
  ['not asked', failing('busy'), true],
  ['404', coded(404), false],
  ['406', coded(406), false],
  ['something else', coded(200), false],
] as const) {
  t.test(`forms that are known, and then: ${what}: ${isKept ? 'kept' : 'forgotten'}`, async t => {
    const now = await learnt(answer)
    t.equal(now.isWhole, !isKept, 'it is asked again soon')
    t.equal(now.learned?.emptyItems, isKept ? '[]' : undefined)
    t.equal(now.learned?.emptyMetadata, isKept ? 'null' : undefined)
    t.same(now.learned?.emptyObject, isKept ? emptyObject : undefined)
  })
}

t.test('forms that were never learnt are not known by an outage', async t => {
  const now = await learnt(coded(503), 0)
  t.notOk(now.isWhole)
  t.equal(now.learned?.emptyItems, undefined)
  t.equal(now.learned?.emptyObject, undefined)
})
