import t from 'tap'
import { ask, startServed } from '../../support/http/served.ts'

t.test('a MicroTime without six digits of a second is refused as kube-apiserver does', async t => {
  const { service } = await startServed(t, { isWritable: true })
  const create = (renewTime: string): ReturnType<typeof ask> =>
    ask(service.port, {
      method: 'POST',
      path: '/apis/coordination.k8s.io/v1/namespaces/default/leases?dryRun=All',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'a' },
        spec: { renewTime },
      }),
    })
  const { status, body } = await create('2024-01-01T00:00:00Z')
  t.equal(status, 400)
  t.match(JSON.parse(body.toString()), {
    message:
      'Lease in version "v1" cannot be handled as a Lease: parsing time "2024-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
  })
  t.equal(
    (await create('2024-01-01T00:00:00.123456Z')).status,
    404,
    'only the namespace is missing',
  )
})
