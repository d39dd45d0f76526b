import t from 'tap'
import { moment } from '../../support/http/moment.ts'
import { ask, caughtUp, startServed } from '../../support/http/served.ts'

interface Event {
  readonly verb: string
  readonly annotations: Readonly<Record<string, string>>
}

t.test('the audit log says what is against the policy of a namespace', async t => {
  const events: Event[] = []
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    audit: () => ({ write: line => events.push(JSON.parse(line) as Event) }),
  })
  await caughtUp(served, 1)
  const send = async (path: string, body: object): Promise<number> => {
    const headers = { 'Content-Type': 'application/json' }
    const request = { method: 'POST', path, headers, body: JSON.stringify(body) }
    return (await ask(served.service.port, request)).status
  }
  await send('/api/v1/namespaces', {
    metadata: { name: 'a', labels: { 'pod-security.kubernetes.io/audit': 'baseline' } },
  })
  const spec = { hostNetwork: true, containers: [{ name: 'c', image: 'i' }] }
  t.equal(await send('/api/v1/namespaces/a/pods', { metadata: { name: 'p' }, spec }), 201)
  while (events.length < 2) await moment()
  t.match(events[1]?.annotations, {
    'pod-security.kubernetes.io/enforce-policy': 'privileged:latest',
    'pod-security.kubernetes.io/audit-violations':
      'would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
  })
})
