import t from 'tap'
import { parsePlan } from '../../../lib/simulator/generate/plan.ts'

t.test('what is left out follows from the pods', async t => {
  t.match(parsePlan('pods=10000'), {
    pods: 10_000,
    nodes: 334,
    deployments: 834,
    namespaces: 105,
    events: 500,
  })
  t.match(parsePlan('pods=100, nodes=3,events=0'), { pods: 100, nodes: 3, events: 0 })
  t.match(parsePlan('configmaps=7'), {
    pods: 0,
    nodes: 0,
    deployments: 0,
    configmaps: 7,
    namespaces: 1,
  })
})

t.test('pods always have a node and an owner', async t => {
  t.match(parsePlan('pods=5,nodes=0,deployments=0,namespaces=0'), {
    nodes: 1,
    deployments: 1,
    namespaces: 1,
  })
})

const refusals: readonly [string, RegExp][] = [
  ['', /"" is not kind=count, such as pods=1000/],
  ['pods', /"pods" is not kind=count/],
  ['pods=-1', /"pods=-1" is not kind=count/],
  ['pods=1e6', /"pods=1e6" is not kind=count/],
  ['widgets=1', /unknown kind "widgets": there are namespaces, nodes/],
  ['pods=1,pods=2', /pods is given twice/],
  ['pods=99999999', /pods=99999999 is above the limit of 5000000/],
]

for (const [text, message] of refusals) {
  t.test(`"${text}" is refused`, async t => {
    t.throws(() => parsePlan(text), { code: 'invalid_request', message })
  })
}
