/** The usage of made-up containers. */

import t from 'tap'
import {
  annotated,
  textsOf,
  usageOfContainer,
  usageOfPod,
  type UsingPod,
  windowMs,
} from '../../../lib/simulator/usage/usage.ts'

function pod(annotations: Readonly<Record<string, string>>, requests?: object): UsingPod {
  const one = { name: 'one', ...(requests === undefined ? {} : { resources: { requests } }) }
  const metadata = { name: 'a', uid: '1', annotations }
  return { metadata, spec: { containers: [one, { name: 'two' }] } } as UsingPod
}

const [one, two] = pod({}).spec.containers

t.test('annotations say what is used, of one container or of each', async t => {
  const said = pod({
    'watchglass.local/usage-cpu': '200m',
    'watchglass.local/usage-cpu.two': '2',
    'kwok.x-k8s.io/usage-memory': '1Mi',
  })
  t.strictSame(usageOfContainer(said, one!, 0), { cpu: 0.2, memory: 2 ** 20 })
  t.strictSame(usageOfContainer(said, two!, 0), { cpu: 2, memory: 2 ** 20 })
  t.strictSame(usageOfPod(said, 0), { cpu: 2.2, memory: 2 ** 21 })
  t.equal(annotated({ 'watchglass.local/usage-cpu': '-1' }, 'cpu'), 0)
  t.equal(annotated({}, 'cpu'), undefined)
})

t.test('without them it is a share of what is requested, the same for the same pod', async t => {
  const asking = pod({}, { cpu: '2', memory: '1Gi' })
  const [container] = asking.spec.containers
  const used = usageOfContainer(asking, container!, 0)
  t.ok(used.cpu > 0.3 && used.cpu < 1.8, String(used.cpu))
  t.ok(used.memory > 0.1 * 2 ** 30 && used.memory < 0.9 * 2 ** 30, String(used.memory))
  t.strictSame(usageOfContainer(asking, container!, windowMs - 1), used)
  const later = usageOfContainer(asking, container!, windowMs)
  t.not(later.cpu, used.cpu)
  t.ok(Math.abs(later.cpu - used.cpu) < 0.25 * used.cpu)
})

t.test('a container without requests uses little', async t => {
  const { cpu, memory } = usageOfContainer(pod({}), one!, 0)
  t.ok(cpu > 0 && cpu < 0.012, String(cpu))
  t.ok(memory > 2 ** 22 && memory < 2 ** 27, String(memory))
})

t.test('figures are written as a metrics server does', async t => {
  t.strictSame(textsOf({ cpu: 0.25, memory: 2 ** 26 }), { cpu: '250000000n', memory: '65536Ki' })
})
