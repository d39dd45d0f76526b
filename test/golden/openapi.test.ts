/** OpenAPI documents say what those of a kube-apiserver 1.36 say, word for word.
 *
 *  Its documents are 9 MB; what is kept of them is a hash of each, with the members of all objects
 *  sorted. Where one differs, `npm run regenerate:openapi` says which texts are new. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { schemaOf } from '../../lib/codec/schema/schema.ts'
import { OpenApi } from '../../lib/kube/documents/openapi.ts'
import { builtInResources } from '../../lib/kube/resources/built-ins.ts'
import { Registry } from '../../lib/kube/resources/registry.ts'
import { digests } from '../../lib/cache/ops/digests.ts'
import { allSteps } from '../support/steps.ts'

const schema = schemaOf('1.36')
const installed = builtInResources(schema)
const registry = new Registry({ schema, installed, definitions: [], services: [] })
const openApi = new OpenApi({ registry, digests, gitVersion: '' })

const recorded = JSON.parse(
  readFileSync(new URL('../../../test/golden/data/openapi.json', import.meta.url), 'utf8'),
) as Record<string, string>

function hashOf(document: string): string {
  const { info: _, ...rest } = JSON.parse(document) as Record<string, unknown>
  const text = JSON.stringify(rest, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
  return createHash('sha256').update(text).digest('hex')
}

t.test('version 3', async t => {
  const { paths } = JSON.parse(allSteps(openApi.index())) as { paths: object }
  const names = Object.keys(recorded).filter(name => name !== 'v2')
  t.strictSame(Object.keys(paths), names.sort())
  for (const name of names) {
    t.equal(hashOf(allSteps(openApi.document(name)) ?? ''), recorded[name], name)
  }
})

t.test('version 2', async t => {
  t.equal(hashOf(allSteps(openApi.all())), recorded['v2'])
})
