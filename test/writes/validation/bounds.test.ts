/** Lists that have as many items as they may, and one more: rows of tables would be too long. The
 *  bounds and texts are those of Kubernetes' sources (pkg/apis: validation.go). */

import { readFileSync } from 'node:fs'
import t from 'tap'
import { type Checked, errorsOf } from '../../support/rules/validated.ts'
import { withSettings } from '../../support/rules/table.ts'

const bases = JSON.parse(readFileSync('test/writes/validation/rows/bases.json', 'utf8')) as Record<
  string,
  Checked
>

interface Bound {
  readonly base: string
  readonly path: string
  readonly item: (i: number) => unknown
  readonly most: number
}

const bounds: readonly Bound[] = [
  {
    base: 'EndpointSlice/small',
    path: 'endpoints',
    item: i => ({ addresses: [`10.0.${i >> 8}.${i & 255}`] }),
    most: 1000,
  },
  {
    base: 'EndpointSlice/small',
    path: 'ports',
    item: i => ({ name: `p${i}`, port: i + 1, protocol: 'TCP' }),
    most: 20_000,
  },
  {
    base: 'EndpointSlice/small',
    path: 'endpoints[0].addresses',
    item: i => `10.0.0.${i}`,
    most: 100,
  },
  {
    base: 'Job/failing',
    path: 'spec.podFailurePolicy.rules[0].onExitCodes.values',
    item: i => i + 1,
    most: 255,
  },
]

for (const { base, path, item, most } of bounds) {
  t.test(`${base}: ${path} has at most ${most} items`, async t => {
    const checked = bases[base]
    if (checked === undefined) throw new Error(`no ${base}`)
    const errors = async (count: number): Promise<string[]> => {
      const value = Array.from({ length: count }, (_, i) => item(i))
      const object = withSettings(checked.object, [{ path, value }])
      return (await errorsOf({ ...checked, object })).map(one => `${one.field}: ${one.message}`)
    }
    t.strictSame(await errors(most), [])
    t.strictSame(await errors(most + 1), [
      `${path}: Too many: ${most + 1}: must have at most ${most} items`,
    ])
  })
}
