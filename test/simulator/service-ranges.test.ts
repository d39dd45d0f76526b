import t from 'tap'
import { keyFromText } from '../../lib/base/keys.ts'
import { revision } from '../../lib/base/revision.ts'
import { firstAddress } from '../../lib/simulator/address-range.ts'
import { ServiceRanges } from '../../lib/simulator/service-ranges.ts'
import { KeyValue, noLease } from '../../lib/store/event.ts'
import { startSimulatedCluster } from '../support/http/simulated-cluster.ts'

function rangesOf(...objects: readonly object[]): ServiceRanges {
  const entries = objects.map((object, i) => {
    const value = Buffer.from(JSON.stringify(object))
    const [modRevision, version] = [revision(2), 1]
    const meta = { createRevision: modRevision, modRevision, version, lease: noLease }
    return new KeyValue(keyFromText(String(i)), { bytes: value, start: 0, end: value.length }, meta)
  })
  return new ServiceRanges(keyFromText('/registry/servicecidrs/'), () => entries)
}

const range = (...cidrs: string[]): object => ({ spec: { cidrs } })

t.test('an address is in range that any range has, but for its ends', async t => {
  const ranges = rangesOf(range('10.43.0.0/16', 'fd00::/112'), range('10.50.1.0/24'))
  const addresses = ['10.43.0.1', '10.43.255.254', '10.50.1.7', 'fd00::1']
  for (const address of addresses) t.equal(ranges.contains(address), true, address)
  for (const address of ['10.43.0.0', '10.43.255.255', '10.44.0.1', '10.96.0.1']) {
    t.equal(ranges.contains(address), false, address)
  }
  const metadata = { deletionTimestamp: '2026-01-02T03:04:05Z' }
  const leaving = rangesOf(range('10.43.0.0/16'), { metadata, ...range('10.50.1.0/24') })
  t.equal(leaving.contains('10.50.1.7'), false)
  t.equal(rangesOf().contains('1.2.3.4'), true, 'no range is known')
})

t.test('an address that is drawn is placed in the range of the cluster', async t => {
  const placed = (cidr: string, address: string): string => rangesOf(range(cidr)).placed(address)
  t.equal(placed('10.96.0.0/12', '10.96.0.2'), '10.96.0.2')
  t.equal(placed('10.96.0.0/12', '10.111.255.254'), '10.111.255.254')
  t.equal(placed('10.43.0.0/16', '10.96.0.2'), '10.43.0.2')
  t.equal(placed('10.43.0.0/16', '10.97.0.2'), '10.43.0.5')
  t.ok(placed('10.43.0.0/16', '10.0.0.1').startsWith('10.43.'), 'also one from below')
  t.equal(placed('192.168.4.0/30', '10.99.1.9'), '192.168.4.2')
  t.equal(placed('192.168.4.0/31', '10.99.1.9'), '10.99.1.9', 'it has no place')
})

interface Answer {
  readonly message?: string
  readonly spec?: { readonly clusterIP?: string }
}

t.test('a Service asks for an address out of range in vain, as of kube-apiserver', async t => {
  const { send, until } = await startSimulatedCluster<Answer>(t)
  await until('/apis/networking.k8s.io/v1/servicecidrs/kubernetes', ({ code }) => code === 200)
  const service = (name: string, clusterIP?: string): object => ({
    metadata: { name },
    spec: { ports: [{ port: 80 }], clusterIP },
  })
  const path = '/api/v1/namespaces/default/services'
  const refused = await send('POST', path, service('a', '100.96.0.10'))
  t.equal(refused.code, 422)
  t.equal(
    refused.message,
    'Service "a" is invalid: spec.clusterIPs: Invalid value: ["100.96.0.10"]: failed to allocate IP 100.96.0.10: the provided network does not match the current range',
  )
  t.equal((await send('POST', path, service('a', '10.96.7.7'))).code, 201)
  t.match((await send('POST', path, service('b'))).spec?.clusterIP, /^10\.\d+\.\d+\.\d+$/)
})

t.test('a range that the server was told counts where none is stored', async t => {
  const told = new ServiceRanges(keyFromText('/r/servicecidrs/'), () => [], '10.7.0.0/24')
  t.ok(told.contains('10.7.0.9'))
  t.notOk(told.contains('10.96.0.9'))
  t.match(told.placed('10.96.4.4'), /^10\.7\.0\./)
  t.equal(firstAddress('10.7.0.0/24'), '10.7.0.1')
})
