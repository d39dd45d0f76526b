/** Faults that pods meet on purpose. */

import t from 'tap'
import { startSimulatedCluster } from '../../support/http/simulated-cluster.ts'

interface Answer {
  readonly status?: {
    readonly phase?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    readonly containerStatuses?: readonly {
      readonly ready: boolean
      readonly restartCount: number
      readonly state?: {
        readonly waiting?: { readonly reason: string; readonly message: string }
        readonly terminated?: { readonly exitCode: number }
      }
      readonly lastState?: { readonly terminated?: { readonly exitCode: number } }
    }[]
  }
  readonly items?: readonly { readonly reason: string; readonly message: string }[]
}

/** Seconds take a hundredth, minutes stay: the longest wait is as good as for ever. */
const shortened = (delayMs: number): number => (delayMs > 200_000 ? delayMs : delayMs / 100)
const pods = '/api/v1/namespaces/default/pods'

function pod(name: string, image: string, spec: object = {}): object {
  return { metadata: { name }, spec: { containers: [{ name: 'one', image }], ...spec } }
}

const rules = [
  'image-pull,image=missing*',
  'image-pull,image=late,times=1',
  'pod-crash,image=weak,delay=1s..2s',
  'pod-crash,image=shaken,times=1,delay=1s',
  'pod-crash,image=once,times=1,delay=1s',
  'late-scheduler,delay=1ms,namespace=nowhere',
]
const { send, until } = await startSimulatedCluster<Answer>(t, { shortened, faults: rules })

t.test('an image cannot be pulled for as long as the rule says', async t => {
  await send('POST', pods, pod('a', 'missing:1'))
  const waiting = await until(`${pods}/a`, ({ status }) => {
    return status?.containerStatuses?.[0]?.state?.waiting?.reason === 'ImagePullBackOff'
  })
  t.equal(waiting.status?.phase, 'Pending')
  await send('POST', pods, pod('d', 'late'))
  const running = await until(`${pods}/d`, ({ status }) => status?.phase === 'Running')
  t.equal(running.status?.containerStatuses?.[0]?.ready, true)
  const path = '/api/v1/namespaces/default/events?fieldSelector=reason=Failed'
  const { items } = await until(path, ({ items: told = [] }) => told.length > 0)
  t.match(items?.[0]?.message, /^Failed to pull image "(?:missing:1|late)": .*not found/)
})

t.test('a container that crashes is started again, later each time', async t => {
  await send('POST', pods, pod('b', 'weak'))
  const crashed = await until(`${pods}/b`, ({ status }) => {
    return status?.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff'
  })
  const [one] = crashed.status?.containerStatuses ?? []
  t.match(one, { ready: false, lastState: { terminated: { exitCode: 1 } } })
  t.match(
    one?.state?.waiting?.message,
    /^back-off \d+m?\d*s restarting failed container=one pod=b_/,
  )
  t.equal(crashed.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'False')
  await send('POST', pods, pod('e', 'shaken'))
  const again = await until(`${pods}/e`, ({ status }) => {
    const [container] = status?.containerStatuses ?? []
    return container?.restartCount === 1 && container.ready
  })
  t.equal(again.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True')
})

t.test('a pod that is not to be restarted has failed', async t => {
  await send('POST', pods, pod('c', 'once', { restartPolicy: 'Never' }))
  const failed = await until(`${pods}/c`, ({ status }) => status?.phase === 'Failed')
  t.equal(failed.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 1)
})
