import t from 'tap'
import { countedResource, evaluatorOf } from '../../../lib/writes/admission/quota/usage.ts'
import { type JsonObject, parseTree } from '../../../lib/go/json/tree.ts'

const group = 'resource.k8s.io'
const evaluator = evaluatorOf(group, 'resourceclaims')

function usageOf(requests: readonly object[]): object {
  const bytes = Buffer.from(JSON.stringify({ spec: { devices: { requests } } }))
  const claim = parseTree(bytes, 0, bytes.length) as JsonObject
  const { 'count/resourceclaims.resource.k8s.io': count, ...devices } = Object.fromEntries(
    evaluator.usage(claim, 0),
  )
  t.equal(count, '1')
  return devices
}

const some = (deviceClassName: string, count: number): object => ({
  deviceClassName,
  allocationMode: 'ExactCount',
  count,
})
const all = (deviceClassName: string): object => ({ deviceClassName, allocationMode: 'All' })
const gold = 'gold.deviceclass.resource.k8s.io/devices'
const iron = 'iron.deviceclass.resource.k8s.io/devices'

t.test('quotas count the devices of claims by their classes', async t => {
  t.strictSame(usageOf([]), {})
  t.strictSame(usageOf([{ exactly: some('gold', 2) }, { exactly: some('gold', 1) }]), {
    [gold]: '3',
  })
  t.strictSame(usageOf([{ exactly: all('gold') }, { exactly: some('iron', 1) }]), {
    [gold]: '32',
    [iron]: '1',
  })
  t.strictSame(usageOf([{ name: 'of v1beta1', ...some('gold', 4) }]), { [gold]: '4' })
  t.strictSame(
    usageOf([
      { firstAvailable: [some('gold', 1), some('gold', 3), some('iron', 2)] },
      { exactly: some('iron', 5) },
    ]),
    { [gold]: '3', [iron]: '7' },
    'the most that may be given',
  )
})

t.test('names of quotas lead to the resources that they count', async t => {
  t.strictSame(countedResource(gold), { group, resource: 'resourceclaims' })
  t.strictSame(countedResource('count/resourceclaims.resource.k8s.io'), {
    group,
    resource: 'resourceclaims',
  })
  t.strictSame(countedResource('requests.cpu'), { group: '', resource: 'pods' })
  t.strictSame(countedResource('services.nodeports'), { group: '', resource: 'services' })
  const other = evaluatorOf('example.com', 'resourceclaims')
  t.ok(other.counts('count/resourceclaims.example.com'))
  t.notOk(other.counts(gold))
})
