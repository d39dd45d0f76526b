/** Generated values of objects that are written. */

import t from 'tap'
import { createGenerated } from '../../lib/writes/generated-values.ts'

/** The ranges of kubeadm: 10.96.0.0/12, and --service-node-port-range 30000-32767. */
t.test('addresses and ports of Services are all of their ranges, one after the other', async t => {
  const ports = (first: number): number[] => {
    const { allocator } = createGenerated(
      () => 'u',
      () => first,
    )
    return Array.from({ length: 2768 }, () => allocator.port())
  }
  const all = ports(0)
  t.equal(all[0], 30_001)
  t.equal(all.at(-1), 30_000)
  t.equal(new Set(all).size, 2768)
  t.equal(Math.max(...all), 32_767)
  t.equal(ports(2767)[0], 30_000)
  const addresses = (first: number): string =>
    createGenerated(
      () => 'u',
      () => first,
    ).allocator.address()
  t.equal(addresses(2 ** 20 - 4), '10.96.0.2')
  t.equal(addresses(0), '10.96.0.3')
  t.equal(addresses(2 ** 20 - 5), '10.111.255.254')
})

t.test('the end of a generated name is five letters that spell nothing', async t => {
  let next = 0
  const { nameSuffix } = createGenerated(
    () => 'u',
    end => next++ % end,
  )
  t.equal(nameSuffix(), 'dfghj')
  t.equal(nameSuffix(), 'klmnp')
})
